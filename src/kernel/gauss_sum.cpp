#include "gaussflow/kernel/gauss_sum.hpp"

#include "gaussflow/kernel/reference.hpp"

#include "kernel/differentiable.hpp"
#include "kernel/direct_choice.hpp"
#include "kernel/evaluate.hpp"
#include "kernel/range.hpp"

#include <ATen/ATen.h>

namespace gaussflow {

Tensor evaluate(const Operands& operands, const GaussSumOptions& options) {
  const at::ScalarType dtype = result_dtype(operands);
  if (operands.empty()) return at::zeros({operands.B(), operands.M(), operands.C()}, operands.q.options().dtype(dtype));
  const Plan plan = plan_for(operands, options);
  Tensor s;
  switch (plan.choice.reduction) {
    case Reduction::direct:
      s = direct_call(operands, plan.choice, options.tau);
      break;
    case Reduction::reweight:
      s = reweight_call(operands, plan.frame, plan.attention).sum();
      break;
    case Reduction::prescale:
      s = prescale_call(operands, plan.frame, plan.attention);
      break;
    case Reduction::logit:
      s = logit_call(operands, plan.frame, plan.attention);
      break;
    default:
      s = reference_sum(operands.q, operands.k, operands.v, options.tau,
                        compute_dtype(operands, options) == at::kDouble ? ReferenceAccuracy::fp64 : ReferenceAccuracy::fp32);
  }
  check_sum(plan, s, operands, options);
  return s.to(dtype);
}

Tensor gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options) {
  const Operands operands = checked_operands(q, k, v, options.tau);
  return operands.restore(differentiable_sum(operands, {}, options));
}

Tensor gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& tau, const GaussSumOptions& options) {
  GaussSumOptions here = options;
  here.tau = tau.item<double>();
  const Operands operands = checked_operands(q, k, v, here.tau);
  return operands.restore(differentiable_sum(operands, tau, here));
}

Choice choose(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options) {
  const Operands operands = checked_operands(q, k, v, options.tau);
  if (operands.empty()) return {Reduction::reference, AttentionBackend::automatic, at::kDouble, "nothing to sum: zeros"};
  return plan_for(operands, options).choice;
}

}  // namespace gaussflow
