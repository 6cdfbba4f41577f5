/// The third reduction: the key's norm enters the logits, values stay as they are, and s = Att · e^{lse − ½‖q‖²}. Neither an
/// auxiliary key nor scaled values, so it keeps its relative accuracy down to the smallest sums.

#include "gaussflow/kernel/attention.hpp"

#include "kernel/reductions.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace gaussflow {

bool logit_has_bias(const at::Device& device, at::ScalarType dtype, AttentionBackend backend) {
  // The CPU's mask is fp32 (fp64 for fp64) whatever the operands; elsewhere a bias is rounded to their dtype.
  return device.is_cpu() || backend == AttentionBackend::math || !is_half(dtype);
}

LogitOperands logit_operands(const Operands& operands, const Frame& frame, const AttentionPlan& plan, std::int64_t width) {
  const std::int64_t B = operands.B();
  const at::TensorOptions options = operands.q.options().dtype(plan.dtype);
  const bool bias = logit_has_bias(operands.q.device(), plan.dtype, plan.backend);
  const int terms = bias ? 0 : norm_columns(plan.dtype);
  LogitOperands result;
  Tensor q_norm = at::empty({B, operands.M(), 1}, options.dtype(at::kDouble));
  result.q = assemble(B, operands.M(), width, options, false, [&](std::int64_t begin, std::int64_t length) {
    const Coordinates x = coordinates(operands.q.narrow(1, begin, length), frame, plan.dtype, plan.split);
    q_norm.narrow(1, begin, length).copy_(x.half_norm);
    std::vector<Tensor> columns = plan.split ? std::vector{x.rounded, x.rest, x.rounded} : std::vector{x.rounded};
    columns.insert(columns.end(), terms, at::ones({B, length, 1}, options));
    return at::cat(columns, -1);
  });
  if (bias)
    result.key_bias = at::empty({B, operands.N()}, options.dtype(plan.dtype == at::kDouble ? at::kDouble : at::kFloat));
  result.k = assemble(B, operands.N(), width, options, false, [&](std::int64_t begin, std::int64_t length) {
    const Coordinates x = coordinates(operands.k.narrow(1, begin, length), frame, plan.dtype, plan.split);
    if (bias) result.key_bias.narrow(1, begin, length).copy_(-x.half_norm.squeeze(-1));
    std::vector<Tensor> columns = plan.split ? std::vector{x.rounded, x.rounded, x.rest} : std::vector{x.rounded};
    for (const Tensor& column : columns_of(-x.half_norm, plan.dtype, terms)) columns.push_back(column);
    return at::cat(columns, -1);
  });
  result.q_half_norm = q_norm.squeeze(-1);
  return result;
}

Tensor logit_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), C = operands.C();
  const int terms = logit_has_bias(operands.q.device(), plan.dtype, plan.backend) ? 0 : norm_columns(plan.dtype);
  const std::int64_t width = padded_width(
      std::max(coordinate_columns(operands.D(), plan.split) + terms, std::min(C, channel_limit + 1)), operands.q.device());
  const LogitOperands points = logit_operands(operands, frame, plan, width);
  const Tensor exponents = channel_exponents(operands.v);
  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < C; c += channel_limit + 1) {
    const std::int64_t channels = std::min(channel_limit + 1, C - c);
    const Tensor v =
        assemble(B, operands.N(), width, points.k.options(), false, [&](std::int64_t begin, std::int64_t length) {
          return scaled_values(operands.v.narrow(1, begin, length).narrow(2, c, channels), exponents.narrow(2, c, channels),
                               plan.dtype);
        });
    const Attention att = attention(points.q, points.k, v, points.key_bias, plan.backend);
    const Tensor factor = at::exp(att.lse.to(at::kDouble) - points.q_half_norm).unsqueeze(-1);
    sums.push_back(unscaled(att.out.narrow(2, 0, channels).to(at::kDouble) * factor, exponents.narrow(2, c, channels)));
  }
  return (sums.size() == 1 ? sums[0] : at::cat(sums, 2)).to(wide_dtype(operands, plan.dtype));
}

}  // namespace gaussflow
