#pragma once
/// The fused CPU kernel without tensors: raw pointers in, raw pointers out. The torch-facing entry is
/// gaussflow/kernel/direct.hpp.
///
/// Bits     of a row depend on its query, on the keys and values and on the instruction set: not on the number of threads,
/// nor
///          on the other queries of the call.
/// Memory   one packed copy of keys and values, and a few hundred KiB per thread.

#include "kernel/direct/profiles.hpp"

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

template <class In>
struct Problem {
  Array<In> q, k, v;
  std::int64_t B, M, N, D, C;
  double tau;
  Profile profile = Profile::gaussian;
};

/// out [B, M, C], contiguous, := Σ_n Φ(q_m, k_n) v_n, evaluated in Compute (float or double).
/// Range    all extents ≥ 1.
template <class Compute, class In>
void kernel_sum(const Problem<In>& problem, In* out);

/// Largest |x| and largest |x − mean| of any coordinate; NaN where one is NaN.
struct Extent {
  double absolute = 0;
  double centred = 0;
};
template <class In>
Extent extent_of(const Array<In>& points, std::int64_t batches, std::int64_t rows, std::int64_t columns);

}  // namespace gaussflow::direct
