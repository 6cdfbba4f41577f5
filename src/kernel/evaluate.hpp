#pragma once
/// The dispatch of one sum, without autograd and without checks.

#include "kernel/operands.hpp"

namespace gaussflow {

/// [B, M, C] in result_dtype. Throws UnsupportedError like gauss_sum.
Tensor evaluate(const Operands& operands, const GaussSumOptions& options);

}  // namespace gaussflow
