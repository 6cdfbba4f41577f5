#pragma once
/// The fused CPU kernel: our own Gauss sum, and everything that shares its inner loop.

#include "gaussflow/kernel/options.hpp"

#include <optional>
#include <string>

namespace gaussflow {

/// Whether `direct` takes these operands; if not, `why` (may be null) says the number that forbids it.
///
/// Range    CPU, fp32 or fp64. A sum in the inputs' own type has no limit but overflow: √τ max|x| < 1e37 (fp32), 1e300 (fp64),
///          because fp32 differences of fp32 points are exact to the last bit. fp64 points summed in fp32 are rounded once
///          after centring, which holds to √τ max|k − mean| ≤ 200.
bool direct_supports(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options, std::string* why);

/// Gauss sum s_m = Σ_n Φ_τ(q_m, k_n) v_n, fused: no M × N array in memory.                                      [Eq. (1)]
///
/// Shapes   q [B?, M, D], k [B?, N, D], v [B?, N, C] → [B?, M, C]; any strides; one dtype, fp32 or fp64, which is returned.
/// Compute  the dtype inside the sum, empty: the operands' own. Sums over blocks of keys are always added in fp64.
/// Error    ≤ 32 eps(compute) ‖Σ Φ|v|‖ per column, measured 1–3, whatever N, offset, spread and τ. Φ below 2⁻¹²⁶ (fp64: 2⁻¹⁰²²) is 0.
/// Bits     A row depends on its query, the keys, the values and the instruction set alone: not on threads or other queries.
/// Cost     O(MN(D + C)) time, one packed copy of k and v.
Tensor direct_gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau,
                        std::optional<at::ScalarType> compute = std::nullopt);

}  // namespace gaussflow
