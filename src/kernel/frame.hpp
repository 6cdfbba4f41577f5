#pragma once
/// Where the points of one sum lie: their common centre, their range, and their coordinates as an attention operator sees
/// them.

#include "kernel/operands.hpp"

#include <functional>

namespace gaussflow {

/// x' = √τ (x − c), so that Φ_τ(q, k) = exp(-½ ‖q' − k'‖²) and attention runs with scale 1.                       [Remark 2]
struct Frame {
  Tensor center;        ///< c [B, 1, D] fp64: the mean of q and k of each problem of the batch; zeros when not centred
  double root_tau = 1;  ///< √τ
  double rho = 0;       ///< max ‖x'‖², the range that the guards judge

  /// x' of a set of points, fp64.
  Tensor apply(const Tensor& x) const;
};
Frame frame_of(const Operands& operands, const GaussSumOptions& options);

/// Calls f(begin, length) on pieces of [0, count) that bound temporaries; the whole at once when `whole`.
void for_chunks(std::int64_t count, bool whole, const std::function<void(std::int64_t, std::int64_t)>& f);

/// Coordinates in the dtype of the reduction, rounded from the fp64 x'; split into two numbers, x' = rounded + rest.
struct Coordinates {
  Tensor rounded;
  Tensor rest;       ///< undefined unless split. Carries no gradient
  Tensor half_norm;  ///< ½ ‖x'‖² of the coordinates as represented, fp64 [B, T, 1]: taken from the exact ones it would not
                     ///< cancel against the products
};
Coordinates coordinates(const Tensor& x, const Frame& frame, at::ScalarType dtype, bool split);

/// Powers of two, [B, 1, C], with max|v / 2^e| in [0.5, 1] in each channel: half types overflow at 65504, and sums of
/// anything before that.
Tensor channel_exponents(const Tensor& v);
Tensor scaled_values(const Tensor& v, const Tensor& exponents, at::ScalarType dtype);
Tensor unscaled(const Tensor& s, const Tensor& exponents);

/// [B, T, width] in `dtype` from f(begin, length) → [B, length, ≤ width], filled up with zeros. Under autograd in one piece.
Tensor assemble(std::int64_t B, std::int64_t T, std::int64_t width, const at::TensorOptions& options, bool differentiable,
                const std::function<Tensor(std::int64_t, std::int64_t)>& f);

}  // namespace gaussflow
