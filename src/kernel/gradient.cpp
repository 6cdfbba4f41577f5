#include "kernel/gradient.hpp"

#include "gaussflow/kernel/direct.hpp"

#include "kernel/differentiable.hpp"
#include "kernel/direct/kernels.hpp"
#include "kernel/direct_choice.hpp"
#include "kernel/frame.hpp"
#include "kernel/reference_blocks.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

GradientOperands gradient_operands(const Operands& operands, const GaussSumOptions& options) {
  GradientOperands g;
  g.options = options;
  g.options.compute_dtype = compute_dtype(operands, options);
  const at::ScalarType dtype = result_dtype(operands);
  const auto cast = [&](const Tensor& t) { return t.to(dtype); };
  g.operands = {cast(operands.q), cast(operands.k), cast(operands.v), operands.batched};
  const Tensor center = frame_of(operands, {.tau = options.tau}).center;
  const auto around = [&](const Tensor& t) { return (t.to(at::kDouble) - center).to(dtype); };
  g.q = around(operands.q);
  g.k = around(operands.k);
  return g;
}

std::int64_t gradient_block(std::int64_t D) { return std::max<std::int64_t>(1, 255 / (D + 1)); }

ChannelGradients channel_gradients(const GradientOperands& g, const Tensor& tau, std::int64_t first, std::int64_t count) {
  const Operands& o = g.operands;
  const std::int64_t D = o.D();
  const Tensor points = at::cat({g.k, at::ones_like(g.k.narrow(2, 0, 1))}, 2);           // (k_n, 1)
  const Tensor values = o.v.narrow(2, first, count).unsqueeze(3) * points.unsqueeze(2);  // (v_n k_n, v_n)
  const Operands sums{o.q, o.k, values.reshape({o.B(), o.N(), count * (D + 1)}), true};
  const Tensor s = differentiable_sum(sums, tau, g.options).view({o.B(), o.M(), count, D + 1});
  const Tensor sum = s.narrow(3, D, 1);
  return {sum.squeeze(3), (s.narrow(3, 0, D) - g.q.unsqueeze(2) * sum) * tau.to(s.scalar_type())};
}

bool records_gradients(std::initializer_list<Tensor> operands) {
  return c10::GradMode::is_enabled() &&
         std::any_of(operands.begin(), operands.end(), [](const Tensor& t) { return t.defined() && t.requires_grad(); });
}

std::optional<ValueAndGradient> fused_field(const Operands& operands, const GaussSumOptions& options) {
  const std::optional<Choice> choice = fused_choice(operands, options);
  if (!choice) return std::nullopt;
  const Operands fused = fused_operands(operands, *choice);
  const DirectField field = direct_field(fused.q, fused.k, fused.v.squeeze(-1), options.tau, choice->compute_dtype);
  const at::ScalarType dtype = result_dtype(operands);
  return ValueAndGradient{field.value.to(dtype), field.gradient.to(dtype)};
}

namespace {

/// τ Σ_n Φ v_nc (k_n − q) from the differences themselves in fp64, [B, M, C, D]: nothing cancels, at D times the cost.
Tensor difference_gradient(const Operands& operands, double tau) {
  constexpr std::int64_t entries = std::int64_t{1} << 21, most_keys = 4096;  // of a block of differences
  const std::int64_t B = operands.B(), M = operands.M(), N = operands.N(), D = operands.D();
  const Tensor q = operands.q.detach().to(at::kDouble).unsqueeze(2), k = operands.k.detach().to(at::kDouble).unsqueeze(1),
               v = operands.v.detach().to(at::kDouble);
  Tensor gradient = at::zeros({B, M, operands.C(), D}, v.options());
  const std::int64_t keys = std::min(N, most_keys), rows = std::max<std::int64_t>(1, entries / (B * keys * D));
  for (std::int64_t m = 0; m < M; m += rows) {
    const std::int64_t count = std::min(rows, M - m);
    for (std::int64_t n = 0; n < N; n += keys) {
      const std::int64_t length = std::min(keys, N - n);
      const Tensor difference = k.narrow(2, n, length) - q.narrow(1, m, count);
      const Tensor phi =
          reference_profile(q.narrow(1, m, count).squeeze(2), k.narrow(2, n, length).squeeze(1), tau).unsqueeze(-1);
      gradient.narrow(1, m, count) += at::matmul(v.narrow(1, n, length).transpose(1, 2).unsqueeze(1), phi * difference);
    }
  }
  return gradient * tau;
}

/// Eq. 8 forms (k − q) Φ from values k and 1: where points are R/√τ from their centre, up to R/2 eps show. Up to here that is
/// within the contract of the sums.
constexpr double largest_cancelling_radius = 64;

}  // namespace

ValueAndGradient gauss_sum_with_gradient(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options) {
  const Operands operands = checked_operands(q, k, v.unsqueeze(-1), options.tau);
  if (!records_gradients({q, k, v}))
    if (const auto field = fused_field(operands, options))
      return {operands.restore(field->value), operands.restore(field->gradient)};
  const ChannelGradients result =
      channel_gradients(gradient_operands(operands, options), at::scalar_tensor(options.tau, at::kDouble), 0, 1);
  return {operands.restore(result.sum.squeeze(2)), operands.restore(result.gradient.squeeze(2))};
}

Tensor gauss_sum_gradient(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options) {
  const Operands operands = checked_operands(q, k, v, options.tau);
  const at::ScalarType dtype = result_dtype(operands);
  bool wide = false;  // fp32 loses digits that fp64 keeps
  if (options.reduction == Reduction::automatic && !records_gradients({q, k, v}) && !operands.empty()) {
    if (operands.C() == 1 && operands.D() <= direct::small_dim)  // from differences, in registers
      if (const auto field = fused_field(operands, options)) return operands.restore(field->gradient.unsqueeze(2));
    const double radius = std::sqrt(frame_of(operands, options).rho);
    const double digits = dtype == at::kDouble ? 1 : 0x1p29;  // fp64 has them beside those of the result
    if (radius > largest_cancelling_radius * digits)
      return operands.restore(difference_gradient(operands, options.tau).to(dtype));
    wide = radius > largest_cancelling_radius && dtype != at::kDouble;
  }
  const auto exact = [](const Tensor& t) { return t.to(at::kDouble); };
  const GradientOperands g =
      wide ? gradient_operands({exact(operands.q), exact(operands.k), exact(operands.v), operands.batched},
                               {.tau = options.tau})
           : gradient_operands(operands, options);
  const Tensor tau = at::scalar_tensor(options.tau, at::kDouble);
  const std::int64_t block = gradient_block(operands.D());
  if (operands.C() == 0) return operands.restore(at::zeros({operands.B(), operands.M(), 0, operands.D()}, g.q.options()));
  std::vector<Tensor> parts;
  for (std::int64_t c = 0; c < operands.C(); c += block)
    parts.push_back(channel_gradients(g, tau, c, std::min(block, operands.C() - c)).gradient.to(dtype));
  return operands.restore(parts.size() == 1 ? parts[0] : at::cat(parts, 2));
}

}  // namespace gaussflow
