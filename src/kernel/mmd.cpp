#include "gaussflow/kernel/mmd.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/machine_eps.hpp"
#include "gaussflow/kernel/direct.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/direct_choice.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace gaussflow {

namespace {

Tensor weights_or_uniform(const Tensor& weights, const Tensor& x, const char* name) {
  const at::TensorOptions options = x.options().dtype(at::kDouble);
  if (!weights.defined()) return at::full({x.size(0)}, 1.0 / static_cast<double>(x.size(0)), options);
  if (weights.dim() != 1 || weights.size(0) != x.size(0))
    throw ShapeError(fmt::format("weights {} {} for points {}", name, shape_text(weights), shape_text(x)));
  return weights.to(options);
}

void check_clouds(const Tensor& x, const Tensor& y) {
  if (x.dim() != 2 || y.dim() != 2)
    throw ShapeError(fmt::format("clouds must be [n, D], got {} and {}", shape_text(x), shape_text(y)));
  if (x.size(1) != y.size(1))
    throw ShapeError(
        fmt::format("the clouds have dimensions {} and {}: {} and {}", x.size(1), y.size(1), shape_text(x), shape_text(y)));
  if (x.size(0) == 0 || y.size(0) == 0)
    throw ShapeError(fmt::format("a cloud without points: {} and {}", shape_text(x), shape_text(y)));
}

/// aᵀ K b for points x and y.
double form(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& b, const GaussSumOptions& options) {
  const Tensor s = gauss_sum(x, y, b.unsqueeze(1).to(y.scalar_type()), options);
  return at::dot(a, s.squeeze(1).to(at::kDouble)).item<double>();
}

/// wᵀ K w, every pair once where the fused kernel can.
double self_form(const Tensor& x, const Tensor& w, const GaussSumOptions& options) {
  const Operands operands = checked_operands(x, x, w.unsqueeze(1).to(x.scalar_type()), options.tau);
  const std::optional<Choice> choice = fused_choice(operands, options);
  if (!choice) return form(x, w.to(at::kDouble), x, w, options);
  const Operands fused = fused_operands(operands, *choice);
  return direct_energy(fused.k, fused.v.squeeze(2), options.tau, Profile::gaussian, choice->compute_dtype).item<double>();
}

/// Σ a_i b_j ‖x_i − y_j‖ in blocks, fp64.
double distances(const Tensor& x, const Tensor& a, const Tensor& y, const Tensor& b) {
  constexpr std::int64_t block = 1024;
  double total = 0;
  for (std::int64_t i = 0; i < x.size(0); i += block) {
    const Tensor rows = x.slice(0, i, i + block), row_weights = a.slice(0, i, i + block);
    for (std::int64_t j = 0; j < y.size(0); j += block) {
      constexpr std::int64_t without_products = 2;  // ‖x‖² − 2x·y + ‖y‖² loses close pairs
      const Tensor d = at::cdist(rows, y.slice(0, j, j + block), 2.0, without_products);
      total += at::dot(row_weights, at::mv(d, b.slice(0, j, j + block))).item<double>();
    }
  }
  return total;
}

}  // namespace

SignedMeasure signed_measure(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b) {
  check_clouds(x, y);
  const at::ScalarType dtype = at::promote_types(x.scalar_type(), y.scalar_type());
  return {at::cat({x.to(dtype), y.to(dtype)}, 0),
          at::cat({weights_or_uniform(a, x, "a"), -weights_or_uniform(b, y, "b")}, 0).to(dtype)};
}

double MmdForms::resolution() const { return 4 * eps * (xx + yy + 2 * xy); }

double MmdForms::biased() const {
  const double value = xx + yy - 2 * xy;
  return value > resolution() ? value : 0.0;
}

std::optional<double> MmdForms::unbiased() const {
  if (single || aa >= 1 || bb >= 1) return std::nullopt;  // one point holds all the weight
  return (xx - aa) / (1 - aa) + (yy - bb) / (1 - bb) - 2 * xy;
}

MmdForms mmd_forms(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b, const GaussSumOptions& options,
                   std::optional<double> yy) {
  check_clouds(x, y);
  const Tensor wa = weights_or_uniform(a, x, "a"), wb = weights_or_uniform(b, y, "b");
  const at::ScalarType dtype = at::promote_types(x.scalar_type(), y.scalar_type());
  const Tensor xs = x.to(dtype), ys = y.to(dtype);
  MmdForms forms;
  forms.eps = machine_eps(options.compute_dtype.value_or(dtype));
  forms.single = x.size(0) == 1 || y.size(0) == 1;
  forms.aa = at::dot(wa, wa).item<double>();
  forms.bb = at::dot(wb, wb).item<double>();
  forms.pull = gauss_sum(xs, ys, wb.unsqueeze(1).to(dtype), options).squeeze(1).to(at::kDouble);
  forms.xy = at::dot(wa, forms.pull).item<double>();
  forms.xx = self_form(xs, wa, options);
  forms.yy = yy ? *yy : self_form(ys, wb, options);
  return forms;
}

double mmd_squared(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b, const GaussSumOptions& options) {
  const SignedMeasure sigma = signed_measure(x, y, a, b);
  return std::max(0.0, self_form(sigma.points, sigma.weights, options));  // a squared norm: what is below zero is rounding
}

std::optional<double> mmd_squared_unbiased(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b,
                                           const GaussSumOptions& options) {
  return mmd_forms(x, y, a, b, options).unbiased();
}

double energy_distance(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b) {
  check_clouds(x, y);
  const Tensor wa = weights_or_uniform(a, x, "a"), wb = weights_or_uniform(b, y, "b");
  const Tensor xs = x.to(at::kDouble), ys = y.to(at::kDouble);
  return std::max(0.0, 2 * distances(xs, wa, ys, wb) - distances(xs, wa, xs, wa) - distances(ys, wb, ys, wb));
}

double ksd_squared(const Tensor& x, const Tensor& score, const Tensor& a, const GaussSumOptions& options) {
  if (x.dim() != 2 || score.sizes() != x.sizes())
    throw ShapeError(fmt::format("scores {} for points {}", shape_text(score), shape_text(x)));
  const Tensor weights = weights_or_uniform(a, x, "a");
  const double tau = options.tau, D = static_cast<double>(x.size(1));
  const Tensor exact = x.to(at::kDouble);
  const Tensor centred = exact - exact.mean(0, true);  // the offset cancels exactly in the formula, not in its terms
  const Tensor A = score.to(at::kDouble) - tau * centred;
  const Tensor channels = at::cat({A, centred, at::ones({x.size(0), 1}, exact.options())}, 1);
  const Tensor s = gauss_sum(x, x, (weights.unsqueeze(1) * channels).to(x.scalar_type()), options).to(at::kDouble);
  const Tensor factors = at::cat({A, tau * tau * centred, (2 * tau * (centred * A).sum(1, true) + tau * D)}, 1);
  return std::max(0.0, at::dot(weights, (factors * s).sum(1)).item<double>());
}

}  // namespace gaussflow
