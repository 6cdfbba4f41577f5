/// Algorithm 1: values carry the key's Gaussian, and the log-sum-exp undoes the normalisation.                [Eq. (4)]

#include "gaussflow/kernel/attention.hpp"

#include "kernel/reductions.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace gaussflow {

Tensor prescale_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), C = operands.C();
  const std::int64_t width = padded_width(
      std::max(coordinate_columns(operands.D(), plan.split), std::min(C, channel_limit + 1)), operands.q.device());
  const at::TensorOptions options = operands.q.options().dtype(plan.dtype);
  const at::TensorOptions exact = options.dtype(at::kDouble);

  Tensor q_norm = at::empty({B, operands.M(), 1}, exact), k_norm = at::empty({B, operands.N(), 1}, exact);
  const auto points = [&](const Tensor& x, Tensor& norm, bool key) {
    return assemble(B, x.size(1), width, options, false, [&](std::int64_t begin, std::int64_t length) {
      const Coordinates part = coordinates(x.narrow(1, begin, length), frame, plan.dtype, plan.split);
      norm.narrow(1, begin, length).copy_(part.half_norm);
      if (!plan.split) return part.rounded;
      return key ? at::cat({part.rounded, part.rounded, part.rest}, -1)
                 : at::cat({part.rounded, part.rest, part.rounded}, -1);
    });
  };
  const Tensor q = points(operands.q, q_norm, false), k = points(operands.k, k_norm, true);

  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < C; c += channel_limit + 1) {
    const std::int64_t channels = std::min(channel_limit + 1, C - c);
    // ṽ_n = v_n e^{-½‖k_n‖²}
    const Tensor prescaled = operands.v.narrow(2, c, channels).to(at::kDouble) * at::exp(-k_norm);
    const Tensor exponents = channel_exponents(prescaled);
    const Tensor v = assemble(B, operands.N(), width, options, false, [&](std::int64_t begin, std::int64_t length) {
      return scaled_values(prescaled.narrow(1, begin, length), exponents, plan.dtype);
    });
    const Attention att = attention(q, k, v, {}, plan.backend);
    // e^{lse} e^{-½‖q‖²} as one exponent: apart they overflow
    const Tensor factor = at::exp(att.lse.to(at::kDouble).unsqueeze(-1) - q_norm);
    sums.push_back(unscaled(att.out.narrow(2, 0, channels).to(at::kDouble) * factor, exponents));
  }
  return (sums.size() == 1 ? sums[0] : at::cat(sums, 2)).to(wide_dtype(operands, plan.dtype));
}

}  // namespace gaussflow
