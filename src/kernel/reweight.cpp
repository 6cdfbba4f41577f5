#include "gaussflow/kernel/reweight.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/attention.hpp"

#include "kernel/range.hpp"
#include "kernel/reductions.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

Tensor Reweighted::sum() const { return alpha * kappa / beta; }

double default_kappa(std::int64_t N) {
  return std::exp2(std::min(14.0, std::round(0.5 * std::log2(static_cast<double>(N) + 1))));
}

Reweighted reweight_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), N = operands.N(), C = operands.C();
  const std::int64_t width = call_width(Reduction::reweight, operands, plan);
  const at::TensorOptions options = operands.q.options().dtype(plan.dtype);
  const bool differentiable = c10::GradMode::is_enabled() &&
                              (operands.q.requires_grad() || operands.k.requires_grad() || operands.v.requires_grad());
  const Points points = points_for(operands, frame, plan, Norms::columns, width);
  const Tensor k = at::cat({points.k, at::zeros({B, 1, width}, options)}, 1);  // the auxiliary key: logit 0, weight 1

  const Tensor exponents = channel_exponents(operands.v);
  std::vector<Tensor> alphas;
  Tensor beta;
  for (std::int64_t c = 0; c < C; c += channel_limit) {
    const std::int64_t channels = std::min(channel_limit, C - c);
    // ṽ_n = [v_n, 0] and, of the auxiliary key, κ e_{C+1}
    const Tensor values = assemble(B, N, width, options, differentiable, [&](std::int64_t begin, std::int64_t length) {
      return scaled_values(operands.v.narrow(1, begin, length).narrow(2, c, channels), exponents.narrow(2, c, channels),
                           plan.dtype);
    });
    Tensor last = at::zeros({B, 1, width}, options);
    last.select(2, channels).fill_(plan.kappa);
    const Tensor v = at::cat({values, last}, 1);
    const Tensor out = differentiable ? differentiable_attention(points.q, k, v, plan.backend)
                                      : attention(points.q, k, v, {}, plan.backend).out;
    const Tensor wide = out.to(wide_dtype(operands, plan.dtype));
    alphas.push_back(unscaled(wide.narrow(2, 0, channels), exponents.narrow(2, c, channels)));
    if (c == 0) beta = wide.narrow(2, channels, 1);
  }
  return {alphas.size() == 1 ? alphas[0] : at::cat(alphas, 2), beta, plan.kappa};
}

Reweighted reweight(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options) {
  const Operands operands = checked_operands(q, k, v, options.tau);
  if (operands.empty()) throw ShapeError("reweight needs queries, keys and value channels");
  GaussSumOptions here = options;
  here.reduction = Reduction::reweight;
  const Plan plan = plan_for(operands, here);
  const Reweighted result = reweight_call(operands, plan.frame, plan.attention);
  check_sum(plan, result.sum(), operands, here);
  return {operands.restore(result.alpha), operands.restore(result.beta), result.kappa};
}

}  // namespace gaussflow
