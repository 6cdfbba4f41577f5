#pragma once
/// The Gauss sum as a node of autograd, whatever evaluates it.

#include "kernel/operands.hpp"

namespace gaussflow {

/// evaluate() with exact gradients to q, k, v and, when defined, tau (0-d; options.tau is its value); each gradient is made
/// of Gauss sums again, so derivatives of any order exist.
Tensor differentiable_sum(const Operands& operands, const Tensor& tau, const GaussSumOptions& options);

}  // namespace gaussflow
