/// Algorithm 1: values carry the key's Gaussian, and the log-sum-exp undoes the normalisation.                [Eq. (4)]

#include "gaussflow/kernel/attention.hpp"

#include "kernel/reductions.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace gaussflow {

Tensor prescale_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), C = operands.C(), width = call_width(Reduction::prescale, operands, plan);
  const Points points = points_for(operands, frame, plan, Norms::outside, width);
  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < C; c += channel_limit) {
    const std::int64_t channels = std::min(channel_limit, C - c);
    // ṽ_n = v_n e^{-½‖k_n‖²}
    const Tensor prescaled = operands.v.narrow(2, c, channels).to(at::kDouble) * at::exp(-points.k_half_norm);
    const Tensor exponents = channel_exponents(prescaled);
    const Tensor v =
        assemble(B, operands.N(), width, points.k.options(), false, [&](std::int64_t begin, std::int64_t length) {
          return scaled_values(prescaled.narrow(1, begin, length), exponents, plan.dtype);
        });
    const Attention att = attention(points.q, points.k, v, {}, plan.backend);
    // e^{lse} e^{-½‖q‖²} as one exponent: apart they overflow
    const Tensor factor = at::exp(att.lse.to(at::kDouble).unsqueeze(-1) - points.q_half_norm);
    sums.push_back(unscaled(att.out.narrow(2, 0, channels).to(at::kDouble) * factor, exponents));
  }
  return (sums.size() == 1 ? sums[0] : at::cat(sums, 2)).to(wide_dtype(operands, plan.dtype));
}

}  // namespace gaussflow
