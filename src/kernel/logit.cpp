/// The third reduction: norms enter the logits, values stay as they are, and s = Att · e^{lse}. Neither an auxiliary key nor
/// scaled values, so it keeps its relative accuracy down to the smallest sums.

#include "gaussflow/kernel/attention.hpp"

#include "kernel/reductions.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace gaussflow {

Tensor logit_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), C = operands.C(), width = call_width(Reduction::logit, operands, plan);
  const Points points = points_for(operands, frame, plan, logit_norms(operands.q.device(), plan), width);
  const Tensor bias = points.k_half_norm.defined() ? -points.k_half_norm.squeeze(-1) : Tensor();
  const Tensor exponents = channel_exponents(operands.v);
  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < C; c += channel_limit) {
    const std::int64_t channels = std::min(channel_limit, C - c);
    const Tensor v =
        assemble(B, operands.N(), width, points.k.options(), false, [&](std::int64_t begin, std::int64_t length) {
          return scaled_values(operands.v.narrow(1, begin, length).narrow(2, c, channels), exponents.narrow(2, c, channels),
                               plan.dtype);
        });
    const Attention att = attention(points.q, points.k, v, bias, plan.backend);
    Tensor exponent = att.lse.to(at::kDouble).unsqueeze(-1);
    if (points.q_half_norm.defined()) exponent = exponent - points.q_half_norm;
    sums.push_back(
        unscaled(att.out.narrow(2, 0, channels).to(at::kDouble) * at::exp(exponent), exponents.narrow(2, c, channels)));
  }
  return (sums.size() == 1 ? sums[0] : at::cat(sums, 2)).to(wide_dtype(operands, plan.dtype));
}

}  // namespace gaussflow
