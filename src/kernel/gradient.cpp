#include "kernel/gradient.hpp"

#include "gaussflow/kernel/direct.hpp"

#include "kernel/differentiable.hpp"
#include "kernel/direct_choice.hpp"
#include "kernel/frame.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

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
  const GradientOperands g = gradient_operands(operands, options);
  const Tensor tau = at::scalar_tensor(options.tau, at::kDouble);
  const std::int64_t block = gradient_block(operands.D());
  if (operands.C() == 0) return operands.restore(at::zeros({operands.B(), operands.M(), 0, operands.D()}, g.q.options()));
  std::vector<Tensor> parts;
  for (std::int64_t c = 0; c < operands.C(); c += block)
    parts.push_back(channel_gradients(g, tau, c, std::min(block, operands.C() - c)).gradient);
  return operands.restore(parts.size() == 1 ? parts[0] : at::cat(parts, 2));
}

}  // namespace gaussflow
