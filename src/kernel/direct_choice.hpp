#pragma once
/// When the fused kernel takes a sum, and in which type.

#include "kernel/operands.hpp"

#include <optional>

namespace gaussflow {

/// `direct` as asked for by name (throws UnsupportedError with the number that forbids it), or as automatic's first choice on
/// the CPU: in the type asked for where its range allows, else in fp64; half types, which bring no speed there, in fp32.
/// Empty when automatic must look elsewhere.
std::optional<Choice> direct_choice(const Operands& operands, const GaussSumOptions& options);

/// The same for what shares the fused kernel's inner loop (fields, Stein directions, energies); empty also for an empty
/// problem, or where another reduction was asked for.
std::optional<Choice> fused_choice(const Operands& operands, const GaussSumOptions& options);

/// Operands in the type that the fused kernel reads for that choice.
Operands fused_operands(const Operands& operands, const Choice& choice);

/// The sum by that choice, [B, M, C].
Tensor direct_call(const Operands& operands, const Choice& choice, double tau);

}  // namespace gaussflow
