#include "kernel/differentiable.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/attention.hpp"

#include "kernel/evaluate.hpp"
#include "kernel/gradient.hpp"
#include "kernel/range.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace gaussflow {

namespace {

struct Gradients {
  Tensor q, k, v, tau;
};

/// Σ_c w_c ∇_q s_c and the sums s_c themselves, from Gauss sums: differentiable again.
struct Weighted {
  Tensor gradient;  ///< [B, M, D]
  Tensor sum;       ///< [B, M, C]
};
Weighted weighted_gradient(const GradientOperands& g, const Tensor& w, const Tensor& tau) {
  const std::int64_t C = g.operands.C(), block = gradient_block(g.operands.D());
  Tensor gradient;
  std::vector<Tensor> sums;
  for (std::int64_t c = 0; c < C; c += block) {
    const std::int64_t count = std::min(block, C - c);
    const ChannelGradients part = channel_gradients(g, tau, c, count);
    const Tensor share = (w.narrow(2, c, count).unsqueeze(3) * part.gradient).sum(2);
    gradient = gradient.defined() ? gradient + share : share;
    sums.push_back(part.sum);
  }
  return {gradient, sums.size() == 1 ? sums[0] : at::cat(sums, 2)};
}

/// dL/dτ from the scaling of the points: s depends on √τ x only.
Tensor tau_gradient(const Tensor& q, const Tensor& gq, const Tensor& k, const Tensor& gk, const Tensor& tau) {
  const auto inner = [](const Tensor& x, const Tensor& g) { return (x.to(at::kDouble) * g.to(at::kDouble)).sum(); };
  return ((inner(q, gq) + inner(k, gk)) / (2 * tau.to(at::kDouble))).to(tau.scalar_type());
}

/// First derivatives for any C by the attention operator's own backward: given the lse of the Gauss sum and out := 0 it
/// forms Φ itself. Undefined where no operator or no range allows it.
std::optional<Gradients> operator_gradients(const Operands& operands, const Tensor& w, const Tensor& s, const Tensor& tau,
                                            const GaussSumOptions& options) {
  if (!operands.q.is_cpu() || operands.C() < 2 || operands.C() > channel_limit ||
      options.reduction == Reduction::reference || options.backend == AttentionBackend::math || operands.empty())
    return std::nullopt;
  GaussSumOptions logit = options;
  const at::ScalarType dtype = compute_dtype(operands, options);
  logit.compute_dtype = is_half(dtype) ? at::kFloat : dtype;  // in half types it accumulates in half
  const Frame frame = frame_of(operands, logit);
  AttentionPlan plan = attention_plan(Reduction::logit, operands, logit, false);
  if (!out_of_range(Reduction::logit, operands, frame, plan, logit).empty()) return std::nullopt;
  const std::int64_t D = operands.D(), C = operands.C(), width = call_width(Reduction::logit, operands, plan);
  const Points points = points_for(operands, frame, plan, Norms::bias, width);
  const auto padded = [&](const Tensor& t) { return at::constant_pad_nd(t.to(plan.dtype), {0, width - C}); };
  const AttentionGradients g =
      attention_backward(padded(w), points.q, points.k, padded(operands.v), points.q_half_norm.squeeze(-1).to(plan.dtype),
                         -points.k_half_norm.squeeze(-1));
  Gradients result;
  result.v = g.v.narrow(2, 0, C);
  const Tensor q = points.q.narrow(2, 0, D), k = points.k.narrow(2, 0, D);
  const Tensor gq = g.q.narrow(2, 0, D) - q * (w * s).sum(2, true);
  const Tensor gk = g.k.narrow(2, 0, D) - k * (operands.v * result.v).sum(2, true);
  result.tau = tau_gradient(q, gq, k, gk, tau);
  result.q = gq * frame.root_tau;
  result.k = gk * frame.root_tau;
  return result;
}

/// Options as numbers, the form autograd can keep. tau is a tensor of its own.
std::vector<double> packed(const GaussSumOptions& o) {
  return {static_cast<double>(o.reduction), static_cast<double>(o.backend),
          o.compute_dtype ? static_cast<double>(*o.compute_dtype) : -1, o.kappa.value_or(-1), o.center ? 1.0 : 0.0};
}

GaussSumOptions unpacked(const std::vector<double>& x, double tau) {
  GaussSumOptions o{.tau = tau, .reduction = static_cast<Reduction>(x[0]), .backend = static_cast<AttentionBackend>(x[1])};
  if (x[2] >= 0) o.compute_dtype = static_cast<at::ScalarType>(x[2]);
  if (x[3] >= 0) o.kappa = x[3];
  o.center = x[4] != 0;
  return o;
}

/// First derivatives for one channel: a field at the queries, and with the roles swapped one at the keys.   [Eq. (8)]
std::optional<Gradients> field_gradients(const Operands& operands, const Tensor& w, const Tensor& tau,
                                         const GaussSumOptions& options, bool for_q, bool for_k) {
  if (operands.C() != 1) return std::nullopt;
  const GradientOperands g = gradient_operands(operands, options);
  const Operands& o = g.operands;
  Gradients result;
  if (for_q) {
    const auto field = fused_field(o, g.options);
    if (!field) return std::nullopt;
    result.q = w * field->gradient;
  }
  if (!for_k) return result;
  const auto field = fused_field({o.k, o.q, w, true}, g.options);
  if (!field) return std::nullopt;
  result.v = field->value.unsqueeze(-1);
  result.k = o.v * field->gradient;
  if (for_q) result.tau = tau_gradient(g.q, result.q, g.k, result.k, tau);
  return result;
}

class GaussSum : public torch::autograd::Function<GaussSum> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                        const Tensor& tau, const GaussSumOptions& options) {
    Tensor s = evaluate({q, k, v, true}, options);
    context->save_for_backward({q, k, v, tau, s});
    context->saved_data["options"] = packed(options);
    return s;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const Operands operands{saved[0], saved[1], saved[2], true};
    const Tensor &tau = saved[3], &s = saved[4];
    const GaussSumOptions options = unpacked(context->saved_data["options"].toDoubleVector(), tau.item<double>());
    const Tensor w = grads[0].to(s.scalar_type());  // any strides: only array operations follow
    const bool for_tau = context->needs_input_grad(3);
    const bool for_q = context->needs_input_grad(0) || for_tau, for_k = context->needs_input_grad(1) || for_tau;

    std::optional<Gradients> g;
    if (!c10::GradMode::is_enabled() && (for_q || for_k)) {
      g = field_gradients(operands, w, tau, options, for_q, for_k || context->needs_input_grad(2));
      if (!g) g = operator_gradients(operands, w, s, tau, options);
    }
    if (!g) {
      const GradientOperands forward = gradient_operands(operands, options);
      const Operands& o = forward.operands;
      const GradientOperands swapped{{o.k, o.q, w, true}, forward.k, forward.q, forward.options};
      g.emplace();
      if (for_q) g->q = weighted_gradient(forward, w, tau).gradient;
      if (for_k) {
        const Weighted keys = weighted_gradient(swapped, o.v, tau);  // the roles of q and k, w and v swapped
        g->k = keys.gradient;
        g->v = keys.sum;
      } else if (context->needs_input_grad(2)) {
        g->v = differentiable_sum(swapped.operands, tau, forward.options);
      }
      if (for_tau) g->tau = tau_gradient(forward.q, g->q, forward.k, g->k, tau);
    }
    const auto like = [&](std::size_t input, const Tensor& gradient) {
      return context->needs_input_grad(input) ? gradient.to(saved[input].scalar_type()) : Tensor();
    };
    return {like(0, g->q), like(1, g->k), like(2, g->v), like(3, g->tau), Tensor()};
  }
};

}  // namespace

Tensor differentiable_sum(const Operands& operands, const Tensor& tau, const GaussSumOptions& options) {
  if (!records_gradients({operands.q, operands.k, operands.v, tau})) return evaluate(operands, options);
  const Tensor precision = tau.defined() ? tau : at::scalar_tensor(options.tau, operands.q.options().dtype(at::kDouble));
  return GaussSum::apply(operands.q, operands.k, operands.v, precision, options);
}

}  // namespace gaussflow
