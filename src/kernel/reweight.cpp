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

namespace {

std::vector<Tensor> repeated(const Tensor& column, int times) { return std::vector<Tensor>(times, column); }

Tensor joined(std::vector<Tensor> first, const std::vector<Tensor>& second, const std::vector<Tensor>& third) {
  first.insert(first.end(), second.begin(), second.end());
  first.insert(first.end(), third.begin(), third.end());
  return at::cat(first, -1);
}

}  // namespace

Tensor Reweighted::sum() const { return alpha * kappa / beta; }

double default_kappa(std::int64_t N) {
  return std::exp2(std::min(14.0, std::round(0.5 * std::log2(static_cast<double>(N) + 1))));
}

Reweighted reweight_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan) {
  const std::int64_t B = operands.B(), M = operands.M(), N = operands.N(), D = operands.D(), C = operands.C();
  const int terms = norm_columns(plan.dtype);
  const std::int64_t point_columns = coordinate_columns(D, plan.split) + 2 * terms;
  const std::int64_t width = padded_width(std::max(point_columns, std::min(C, channel_limit) + 1), operands.q.device());
  const at::TensorOptions options = operands.q.options().dtype(plan.dtype);
  const bool differentiable = c10::GradMode::is_enabled() &&
                              (operands.q.requires_grad() || operands.k.requires_grad() || operands.v.requires_grad());

  // q̃ = [q, 1, ½‖q‖²], the norm as hi + lo in half types
  const Tensor q = assemble(B, M, width, options, differentiable, [&](std::int64_t begin, std::int64_t length) {
    const Coordinates x = coordinates(operands.q.narrow(1, begin, length), frame, plan.dtype, plan.split);
    const std::vector<Tensor> points = plan.split ? std::vector{x.rounded, x.rest, x.rounded} : std::vector{x.rounded};
    return joined(points, repeated(at::ones({B, length, 1}, options), terms), columns_of(x.half_norm, plan.dtype, terms));
  });
  // k̃_n = [k_n, -½‖k_n‖², 0], and the auxiliary k̃_0 = e_{D+2} in the last row
  const Tensor keys = assemble(B, N, width, options, differentiable, [&](std::int64_t begin, std::int64_t length) {
    const Coordinates x = coordinates(operands.k.narrow(1, begin, length), frame, plan.dtype, plan.split);
    const std::vector<Tensor> points = plan.split ? std::vector{x.rounded, x.rounded, x.rest} : std::vector{x.rounded};
    return joined(points, columns_of(-x.half_norm, plan.dtype, terms), {});
  });
  Tensor auxiliary = at::zeros({B, 1, width}, options);
  auxiliary.narrow(2, point_columns - terms, terms).fill_(1);
  const Tensor k = at::cat({keys, auxiliary}, 1);

  const Tensor exponents = channel_exponents(operands.v);
  std::vector<Tensor> alphas;
  Tensor beta;
  for (std::int64_t c = 0; c < C; c += channel_limit) {
    const std::int64_t channels = std::min(channel_limit, C - c);
    // ṽ_n = [v_n, 0], ṽ_0 = κ e_{C+1}
    const Tensor values = assemble(B, N, width, options, differentiable, [&](std::int64_t begin, std::int64_t length) {
      return scaled_values(operands.v.narrow(1, begin, length).narrow(2, c, channels), exponents.narrow(2, c, channels),
                           plan.dtype);
    });
    Tensor last = at::zeros({B, 1, width}, options);
    last.select(2, channels).fill_(plan.kappa);
    const Tensor v = at::cat({values, last}, 1);
    const Tensor out =
        differentiable ? differentiable_attention(q, k, v, plan.backend) : attention(q, k, v, {}, plan.backend).out;
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
  return {operands.restore(result.alpha), operands.restore(result.beta), result.kappa};
}

}  // namespace gaussflow
