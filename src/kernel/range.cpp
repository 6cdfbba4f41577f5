#include "kernel/range.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/attention.hpp"

#include "kernel/direct_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

bool is_attention(Reduction r) { return r == Reduction::reweight || r == Reduction::prescale || r == Reduction::logit; }

/// Largest ρ = τ max‖x−c‖² at which the measured error stays inside the contract.
double rho_limit(Reduction reduction, at::ScalarType dtype) {
  if (reduction == Reduction::prescale) return dtype == at::kHalf ? 14 : 32;
  return is_half(dtype) ? 200 : 32;
}

std::int64_t width_of(Reduction reduction, const Operands& operands, at::ScalarType dtype, bool split, bool bias) {
  const std::int64_t points = coordinate_columns(operands.D(), split), C = std::min(operands.C(), channel_limit);
  const int terms = norm_columns(dtype);
  if (reduction == Reduction::reweight) return padded_width(std::max(points + 2 * terms, C + 1), operands.q.device());
  if (reduction == Reduction::prescale) return padded_width(std::max(points, C), operands.q.device());
  return padded_width(std::max(points + (bias ? 0 : terms), C), operands.q.device());
}

}  // namespace

AttentionPlan attention_plan(Reduction reduction, const Operands& operands, const Frame&, const GaussSumOptions& options) {
  const at::Device device = operands.q.device();
  AttentionPlan plan;
  plan.dtype = compute_dtype(operands, options);
  const bool bias = reduction == Reduction::logit && logit_has_bias(device, plan.dtype, options.backend);
  plan.backend = attention_backend(options.backend, device, plan.dtype,
                                   width_of(reduction, operands, plan.dtype, plan.split, bias), bias);
  if (reduction == Reduction::reweight) {
    plan.kappa = options.kappa.value_or(default_kappa(operands.N()));
    if (!(plan.kappa > 0 && std::isfinite(plan.kappa)))
      throw UnsupportedError(fmt::format("compute.kappa must be finite and > 0, got {}", plan.kappa));
  }
  return plan;
}

std::string out_of_range(Reduction reduction, const Operands&, const Frame& frame, const AttentionPlan& plan) {
  const double limit = rho_limit(reduction, plan.dtype);
  if (!(frame.rho <= limit))
    return fmt::format("tau max|x-c|^2 = {:.4g} is over {:g}, the limit of {} in {}", frame.rho, limit, name_of(reduction),
                       dtype_name(plan.dtype));
  return {};
}

Plan plan_for(const Operands& operands, const GaussSumOptions& options) {
  const at::ScalarType dtype = compute_dtype(operands, options);
  Plan plan;
  if (options.reduction == Reduction::direct || options.reduction == Reduction::automatic) {
    if (const std::optional<Choice> choice = direct_choice(operands, options)) {
      plan.choice = *choice;
      return plan;
    }
  }
  if (is_attention(options.reduction)) {
    plan.frame = frame_of(operands, options);
    plan.attention = attention_plan(options.reduction, operands, plan.frame, options);
    const std::string refused = out_of_range(options.reduction, operands, plan.frame, plan.attention);
    if (!refused.empty()) throw UnsupportedError(refused + ": use reduction auto");
    plan.choice = {options.reduction, plan.attention.backend, dtype,
                   fmt::format("{} in {} as asked: tau max|x-c|^2 = {:.4g}", name_of(options.reduction), dtype_name(dtype),
                               plan.frame.rho)};
    return plan;
  }
  const bool asked = options.reduction == Reduction::reference;
  plan.choice = {Reduction::reference, AttentionBackend::automatic, at::kDouble,
                 asked ? "as asked" : "no faster reduction takes this device, type and range"};
  return plan;
}

}  // namespace gaussflow
