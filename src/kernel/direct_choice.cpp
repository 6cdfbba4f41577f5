#include "kernel/direct_choice.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/direct.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace gaussflow {

namespace {

/// Half operands are read as fp32, which holds them exactly.
Tensor widened(const Tensor& t) { return is_half(t.scalar_type()) ? t.detach().to(at::kFloat) : t.detach(); }

}  // namespace

std::optional<Choice> direct_choice(const Operands& operands, const GaussSumOptions& options) {
  const bool asked = options.reduction == Reduction::direct;
  if (!asked && options.backend != AttentionBackend::automatic) return std::nullopt;
  if (asked && options.backend != AttentionBackend::automatic)
    throw UnsupportedError(
        fmt::format("reduction direct is no attention: backend {} cannot evaluate it", name_of(options.backend)));
  const at::ScalarType wanted = compute_dtype(operands, options);
  const Tensor q = widened(operands.q), k = widened(operands.k), v = widened(operands.v);
  GaussSumOptions here = options;
  here.compute_dtype = is_half(wanted) && !asked ? at::kFloat : wanted;
  std::string why;
  if (direct_supports(q, k, v, here, &why)) {
    return Choice{Reduction::direct, AttentionBackend::automatic, *here.compute_dtype,
                  asked             ? "as asked"
                  : is_half(wanted) ? fmt::format("{} brings no speed on the CPU", dtype_name(wanted))
                                    : "the fused kernel takes this type and range"};
  }
  if (asked) throw UnsupportedError(why + ": use reduction auto");
  here.compute_dtype = at::kDouble;
  if (*here.compute_dtype != wanted &&
      direct_supports(q.to(at::kDouble), k.to(at::kDouble), v.to(at::kDouble), here, nullptr))
    return Choice{Reduction::direct, AttentionBackend::automatic, at::kDouble, why};
  return std::nullopt;
}

std::optional<Choice> fused_choice(const Operands& operands, const GaussSumOptions& options) {
  const bool fits = options.reduction == Reduction::automatic || options.reduction == Reduction::direct;
  if (operands.empty() || !fits) return std::nullopt;
  return direct_choice(operands, options);
}

Operands fused_operands(const Operands& operands, const Choice& choice) {
  Operands fused{widened(operands.q), widened(operands.k), widened(operands.v), operands.batched};
  if (choice.compute_dtype == at::kDouble)
    for (Tensor* t : {&fused.q, &fused.k, &fused.v}) *t = t->to(at::kDouble);
  return fused;
}

Tensor direct_call(const Operands& operands, const Choice& choice, double tau) {
  const Operands fused = fused_operands(operands, choice);
  return direct_gauss_sum(fused.q, fused.k, fused.v, tau, choice.compute_dtype);
}

}  // namespace gaussflow
