#pragma once
/// The one operation: the Gauss sum, its query gradient, and the choice of how to evaluate it.

#include "gaussflow/kernel/options.hpp"

namespace gaussflow {

/// Gauss sum s_m = Σ_n Φ_τ(q_m, k_n) v_n with signed v.                                                  [Eq. (1)]
///
/// Shapes   q [B?, M, D], k [B?, N, D], v [B?, N, C] → [B?, M, C]; D ≥ 1; M, N or C may be 0 (exact zeros).
/// Dtypes   fp16, bf16, fp32, fp64, all alike, one device. Half types return fp32, the others their own.
/// Error    ≤ 32 eps(dtype) · ‖Σ Φ|v|‖ per column for automatic and reference; the named reductions as their headers say.
/// Cost     O(MN(D + C)) time, O((M + N)(D + C)) memory, whatever the reduction.
/// Autograd  exact gradients to q, k and v for every reduction; they are Gauss sums again, so higher derivatives exist too.
/// Throws   ShapeError; InputError naming the first non-finite entry; UnsupportedError when a named reduction, backend or
///          dtype cannot take this problem, with the number that forbids it.
Tensor gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options);

/// The same with τ as a 0-d tensor, so that gradients reach it; options.tau is not read.
Tensor gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& tau, const GaussSumOptions& options);

/// The evaluation that gauss_sum takes for these operands. Throws like gauss_sum.
Choice choose(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options);

/// A scalar field s(q) = Σ_n Φ_τ(q, k_n) v_n and its gradient at the queries.
struct ValueAndGradient {
  Tensor value;     ///< [B?, M]
  Tensor gradient;  ///< [B?, M, D]
};

/// Value and query gradient ∇_q s = τ (Σ Φ v k − q Σ Φ v) by one Gauss sum with the C = D+1 values (v_n k_n, v_n).   [Eq.
/// (8)]
///
/// Shapes   q [B?, M, D], k [B?, N, D], v [B?, N].
/// Note     Points are centred before the values are formed, so the two terms do not cancel on offset data.
/// Throws   like gauss_sum.
ValueAndGradient gauss_sum_with_gradient(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options);

/// The gradient of every channel, [B?, M, C, D], in blocks of channels.
///
/// Error    like a sum's, against τ Σ Φ|v| (‖k − q‖ + 1/√τ) in the 2-norm (C = 1 and D ≤ 4: without the 1/√τ), by the automatic
///          reduction and outside autograd: where points are over 64/√τ from their centre it is formed in fp64, and in fp64
///          from the differences, D times slower.
Tensor gauss_sum_gradient(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options);

/// Whether a sum is so small that a named reduction holds all of it, not only some rows, against the reference.
bool checked_whole(const Tensor& q, const Tensor& k, const Tensor& v);

}  // namespace gaussflow
