#include "gaussflow/kernel/kernel.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/direct.hpp"
#include "gaussflow/kernel/reweight.hpp"

#include "kernel/direct_choice.hpp"
#include "kernel/gradient.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

namespace gaussflow {

ValueAndGradient Kernel::field(const Tensor& q, const Tensor& k, const Tensor& weights, Gradient gradient) const {
  if (gradient == Gradient::eq8) return gauss_sum_with_gradient(q, k, weights, options_);
  // The independent route: autograd through Algorithm 2 and the attention operator's backward. Row m of s depends on q_m
  // only.
  if (options_.reduction != Reduction::automatic && options_.reduction != Reduction::reweight)
    throw UnsupportedError(fmt::format("gradient autograd runs through reduction reweight, not {}: use gradient eq8",
                                       name_of(options_.reduction)));
  const c10::AutoGradMode enabled(true);
  GaussSumOptions options = options_;
  options.reduction = Reduction::reweight;
  const Tensor x = q.detach().requires_grad_();
  const Tensor s = reweight(x, k.detach(), weights.detach().unsqueeze(-1), options).sum().squeeze(-1);
  const Tensor g = torch::autograd::grad({s.sum()}, {x})[0];
  return {s.detach(), g.to(s.scalar_type())};
}

Tensor Kernel::stein(const Tensor& q, const Tensor& x, const Tensor& score, const Tensor& a) const {
  if (score.sizes() != x.sizes()) throw ShapeError(fmt::format("scores {} for points {}", shape_text(score), shape_text(x)));
  if (a.dim() != 1 || a.size(0) != x.size(-2))
    throw ShapeError(fmt::format("weights {} for points {}", shape_text(a), shape_text(x)));
  const Operands operands = checked_operands(q, x, score, options_.tau);
  if (!records_gradients({q, x, score, a})) {
    if (const std::optional<Choice> choice = fused_choice(operands, options_)) {
      const Operands fused = fused_operands(operands, *choice);
      const Tensor weights = a.to(fused.v.scalar_type()).unsqueeze(0).expand({operands.B(), a.size(0)});
      return operands.restore(direct_stein(fused.q, fused.k, fused.v, weights, options_.tau, choice->compute_dtype));
    }
  }
  const GradientOperands g = gradient_operands(operands, options_);
  const Operands& o = g.operands;
  const std::int64_t D = o.D();
  // a_j (s_j − τ x_j, 1) around the centre: τ x S0 then cancels against it only within the cloud
  const Tensor drive = at::cat({o.v - options_.tau * g.k, at::ones_like(g.k.narrow(2, 0, 1))}, 2);
  const Tensor values = drive * a.to(drive.scalar_type()).view({1, -1, 1});
  const Tensor s = operands.restore(gauss_sum(o.q, o.k, values, g.options));
  return s.narrow(-1, 0, D) + options_.tau * operands.restore(g.q) * s.narrow(-1, D, 1);
}

}  // namespace gaussflow
