#pragma once
/// The difference form on raw fp64 arrays: the CPU's trusted sum.

#include <cstdint>

namespace gaussflow {

/// One problem, row-major and contiguous: q [M, D], k [N, D], v [N, C] → s [M, C].
struct RowsProblem {
  const double* q;
  const double* k;
  const double* v;
  double* s;
  std::int64_t M, N, D, C;
  double tau;
};

/// s_m = Σ_n exp(-τ/2 ‖q_m − k_n‖²) v_n for rows [begin, end), each a sum over the keys in their order: a row's bits depend
/// on neither the other rows, nor the threads, nor the instruction set.
///
/// `exact` forms the exponent in double-double: a plain fp64 exponent x has the absolute error ~4·2⁻⁵³ x, and e^{-x} the
/// same relative one, far over the contract where every pair is far apart (x up to 708). Without it the error is ~1e-13,
/// enough for results that are rounded to fp32. Φ below 2⁻¹⁰²² is 0.
void reference_rows(const RowsProblem& problem, bool exact, std::int64_t begin, std::int64_t end);

}  // namespace gaussflow
