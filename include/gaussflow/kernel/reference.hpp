#pragma once
/// The trusted sum: difference form in fp64, slow and right everywhere.

#include "gaussflow/core/tensor.hpp"

namespace gaussflow {

/// Which result a reference sum is for: `fp64` forms exponents in double-double, `fp32` in plain fp64.
enum class ReferenceAccuracy { fp32, fp64 };

/// Gauss sum from exp(-τ/2 ‖q−k‖²) of fp64 differences, in blocks.
///
/// Shapes   q [B, M, D], k [B, N, D], v [B, N, C] → fp64 [B, M, C]; any float dtypes, one device, entries finite.
/// Error    ≤ 32 eps(accuracy) · ‖Σ Φ|v|‖ per column whatever the range and N; Φ < 2⁻¹⁰²² is 0.
/// Note     On the CPU a row's bits depend on its own query and the keys only: not on M, the batch or the threads.
/// Cost     O(MN(D + C)) time, O((M + N)(D + C)) memory.
Tensor reference_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau, ReferenceAccuracy accuracy);

}  // namespace gaussflow
