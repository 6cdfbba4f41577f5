#pragma once
/// Algorithm 2: a Gauss sum by one attention call with an auxiliary key, and no log-sum-exp.

#include "gaussflow/kernel/options.hpp"

namespace gaussflow {

/// [α, β] of Algorithm 2, and κ.   κ/(N+1) ≤ β ≤ κ and ‖α‖∞ ≤ max|v|.                                          [Prop. 1]
struct Reweighted {
  Tensor alpha;  ///< [B?, M, C]
  Tensor beta;   ///< [B?, M, 1]
  double kappa;

  Tensor sum() const;  ///< s = κ α/β                                                                      [Eq. (5)]
};

/// Algorithm 2 in its safe form: κ a power of two unless given, points centred and scaled by √τ before they are rounded,
/// norms of the rounded points, in half types as hi + lo columns; values scaled per channel by powers of two.
///
/// Shapes   q [B?, M, D], k [B?, N, D], v [B?, N, C]; M, N ≥ 1. Gradients flow to q, k and v, once.
/// Error    ≤ eps(compute_dtype) · (8 + τR²/2) · ‖Σ Φ|v|‖ per column, R = largest centred ‖q‖, ‖k‖; half types ≤ 10 eps.
/// Cost     one attention call per 255 channels, width ⌈max(D+2, C+1)⌉₈ (half types D+4, or 3D+4 where coordinates are split).
/// Throws   like gauss_sum; UnsupportedError outside the range where the error bound holds, with the number.
Reweighted reweight(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options);

/// κ = 2^round(log2 √(N+1)) ≤ 2¹⁴: √(N+1) itself is not representable and would bias every row.
double default_kappa(std::int64_t N);

}  // namespace gaussflow
