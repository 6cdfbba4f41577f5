#pragma once
/// The fused CPU kernel without tensors: raw pointers in, raw pointers out. The torch-facing entry is
/// gaussflow/kernel/direct.hpp.
///
/// Bits     of a row depend on its query, on the keys and values and on the instruction set: not on the number of threads,
/// nor
///          on the other queries of the call.
/// Memory   one packed copy of keys and values, and a few hundred KiB per thread.

#include "gaussflow/kernel/profile.hpp"

#include <cstdint>

namespace gaussflow::direct {

/// A strided array [batch, row, column].
template <class In>
struct Array {
  const In* data;
  std::int64_t batch;  ///< elements from one to the next; 0 repeats
  std::int64_t row;
  std::int64_t column;
  const In* at(std::int64_t b, std::int64_t r) const { return data + b * batch + r * row; }
};

enum class Kind {
  sum,    ///< Σ_n Φ(q, k_n) v_n
  field,  ///< C = 1: s = Σ_n Φ(q, k_n) v_n and ∇s = τ Σ_n Φ v_n (k_n − q)
  stein,  ///< C = D: Σ_n Φ a_n (v_n − τ (k_n − q))
};

/// Φ carries the relative error of its exponent times that exponent: a sum all of whose keys are far away errs more.
enum class Exponents {
  checked,  ///< rows whose sums are that faint are evaluated again, in fp64 or compensated
  plain,
  compensated,  ///< squared distances in twice the precision; Compute is double, the sum of the Gaussian alone
};

template <class In>
struct Problem {
  Kind kind = Kind::sum;
  Array<In> q, k, v;
  std::int64_t B, M, N, D, C;
  double tau;
  Profile profile = Profile::gaussian;  ///< field and stein: the Gaussian alone
  Array<In> a = {};                     ///< stein: [N, 1]
  Exponents exponents = Exponents::checked;
};

/// Where results go, contiguous: [B, M, C], and for a field its gradient [B, M, D].
template <class In>
struct Output {
  In* value;
  In* gradient = nullptr;
};

/// Evaluated in Compute (float or double), whatever the type of the operands.   Range  all extents ≥ 1.
template <class Compute, class In>
void kernel_sum(const Problem<In>& problem, const Output<In>& out);

/// The sum with q = k, every pair once, C ≤ 4; q and M are not looked at.
template <class Compute, class In>
void kernel_symmetric_sum(const Problem<In>& problem, In* out);

/// Σ_mn v_m Φ(k_m, k_n) v_n, every pair once, C = 1; out [B].
template <class Compute, class In>
void kernel_energy(const Problem<In>& problem, double* out);

/// Largest |x| and largest |x − mean| of any coordinate; NaN where one is NaN.
struct Extent {
  double absolute = 0;
  double centred = 0;
};
template <class In>
Extent extent_of(const Array<In>& points, std::int64_t batches, std::int64_t rows, std::int64_t columns);

}  // namespace gaussflow::direct
