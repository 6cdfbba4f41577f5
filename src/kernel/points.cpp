#include "gaussflow/kernel/attention.hpp"

#include "kernel/reductions.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>

namespace gaussflow {

// [x, norms, lower halves of the norms], or split [rounded, rest or rounded again twice, …]: norms are one column in fp32
// and fp64, hi + lo in half types, where one alone loses u τR²/2.
std::int64_t point_columns(std::int64_t D, const AttentionPlan& plan, Norms norms) {
  const std::int64_t coordinates = plan.split ? 3 * D : D;
  return coordinates + (norms != Norms::columns ? 0 : is_half(plan.dtype) ? 4 : 2);
}

Points points_for(const Operands& operands, const Frame& frame, const AttentionPlan& plan, Norms norms, std::int64_t width) {
  const std::int64_t B = operands.B();
  const at::TensorOptions options = operands.q.options().dtype(plan.dtype);
  const bool differentiable = c10::GradMode::is_enabled() && (operands.q.requires_grad() || operands.k.requires_grad());
  Points result;
  const auto build = [&](const Tensor& x, bool key, Tensor& half_norm) {
    if (norms != Norms::columns) half_norm = at::empty({B, x.size(1), 1}, options.dtype(at::kDouble));
    return assemble(B, x.size(1), width, options, differentiable, [&](std::int64_t begin, std::int64_t length) {
      const Coordinates c = coordinates(x.narrow(1, begin, length), frame, plan.dtype, plan.split);
      std::vector<Tensor> columns{c.rounded};
      // (q_h + q_l)·(k_h + k_l) = q_h·k_h + q_l·k_h + q_h·k_l, the last product beneath notice
      if (plan.split) columns.insert(columns.end(), {key ? c.rounded : c.rest, key ? c.rest : c.rounded});
      if (norms == Norms::columns) {
        const Tensor one = at::ones({B, length, 1}, options), upper = c.half_norm.to(plan.dtype);
        columns.insert(columns.end(), {key ? -upper : one, key ? -one : upper});
        if (is_half(plan.dtype)) {
          const Tensor lower = (c.half_norm - upper.to(at::kDouble)).detach().to(plan.dtype);  // else it counts twice
          columns.insert(columns.end(), {key ? -lower : one, key ? -one : lower});
        }
      } else {
        half_norm.narrow(1, begin, length).copy_(c.half_norm);
      }
      return at::cat(columns, -1);
    });
  };
  result.q = build(operands.q, false, result.q_half_norm);
  result.k = build(operands.k, true, result.k_half_norm);
  return result;
}

Norms logit_norms(const at::Device& device, const AttentionPlan& plan) {
  // The CPU's mask is fp32 (fp64 for fp64) whatever the operands; elsewhere a bias has their dtype.
  return device.is_cpu() || plan.backend == AttentionBackend::math || !is_half(plan.dtype) ? Norms::bias : Norms::columns;
}

std::int64_t call_width(Reduction reduction, const Operands& operands, const AttentionPlan& plan) {
  const at::Device device = operands.q.device();
  const Norms norms = reduction == Reduction::reweight   ? Norms::columns
                      : reduction == Reduction::prescale ? Norms::outside
                                                         : logit_norms(device, plan);
  const std::int64_t channels = std::min(operands.C(), channel_limit) + (reduction == Reduction::reweight ? 1 : 0);
  return padded_width(std::max(point_columns(operands.D(), plan, norms), channels), device);
}

}  // namespace gaussflow
