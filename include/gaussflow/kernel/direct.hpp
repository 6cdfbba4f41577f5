#pragma once
/// The fused CPU kernel: our own Gauss sum, and everything that shares its inner loop.

#include "gaussflow/kernel/options.hpp"
#include "gaussflow/kernel/profile.hpp"

#include <optional>
#include <string>

namespace gaussflow {

/// Whether `direct` takes these operands; if not, `why` (may be null) says the number that forbids it.
///
/// Range    CPU, fp32 or fp64. A sum in the inputs' own type has no limit but overflow: √τ max|x| < 1e37 (fp32), 1e300
/// (fp64),
///          because differences of fp32 points are exact to the last bit. fp64 points summed in fp32 are rounded once after
///          centring, which holds to √τ max|k − mean| ≤ 200.
bool direct_supports(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options, std::string* why);

/// Gauss sum s_m = Σ_n Φ_τ(q_m, k_n) v_n, fused: no M × N array in memory.                                      [Eq. (1)]
///
/// Shapes   q [B?, M, D], k [B?, N, D], v [B?, N, C] → [B?, M, C]; any strides; one dtype, fp32 or fp64, which is returned.
/// Compute  the dtype inside the sum, empty: the operands' own. Sums over blocks of keys are always added in fp64.
/// Error    ≤ 32 eps(compute) ‖Σ Φ|v|‖ per column, measured ≤ 3, whatever N, offset, spread and τ. Φ below 2⁻¹²⁶ (fp64: 2⁻¹⁰²²) is 0.
/// Bits     A row depends on its query, the keys, the values and the instruction set alone: not on threads or other queries.
/// Cost     O(MN(D + C)) time, one packed copy of k and v.
Tensor direct_gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau,
                        std::optional<at::ScalarType> compute = std::nullopt);

/// The same sum for another radial profile (profile.hpp says which and how they are scaled).
Tensor direct_radial_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau, Profile profile,
                         std::optional<at::ScalarType> compute = std::nullopt);

/// A field and its gradient in one pass: s(q) = Σ_n Φ w_n and ∇s = τ Σ_n Φ w_n (k_n − q).                        [Eq. (8)]
///
/// Shapes   q [B?, M, D], k [B?, N, D], w [B?, N] → value [B?, M], gradient [B?, M, D].
/// Error    Up to D = 4 the sum runs over the differences themselves, so that nothing cancels: ≤ 32 eps of τ ‖Σ Φ|w||k − q|‖.
///          Beyond, over w (k − mean), computed in fp64 where √τ max|k − mean| > 16.
struct DirectField {
  Tensor value;
  Tensor gradient;
};
DirectField direct_field(const Tensor& q, const Tensor& k, const Tensor& w, double tau,
                         std::optional<at::ScalarType> compute = std::nullopt);

/// Stein direction Σ_j a_j [Φ(x_j, q) s_j + ∇_{x_j} Φ(x_j, q)] = Σ_j Φ a_j (s_j − τ (x_j − q)) in one pass.
///                                                                                         [Liu & Wang 2016, eq. (8)]
/// Shapes   q [B?, M, D], x [B?, N, D], score [B?, N, D], a [B?, N] → [B?, M, D]. Error as direct_field.
Tensor direct_stein(const Tensor& q, const Tensor& x, const Tensor& score, const Tensor& a, double tau,
                    std::optional<at::ScalarType> compute = std::nullopt);

/// The sum with q = k, every pair formed once: half the exponentials where C ≤ 4, else the plain sum.
///
/// Shapes   x [B?, N, D], v [B?, N, C] → [B?, N, C].
Tensor direct_symmetric_sum(const Tensor& x, const Tensor& v, double tau, Profile profile = Profile::gaussian,
                            std::optional<at::ScalarType> compute = std::nullopt);

/// vᵀ K v, every pair formed once.                                                                       [Eq. (7)]
///
/// Shapes   x [B?, N, D], v [B?, N] → [B?] in fp64.
/// Error    of each row's sum as direct_gauss_sum, in fp64 from there on.
Tensor direct_energy(const Tensor& x, const Tensor& v, double tau, Profile profile = Profile::gaussian,
                     std::optional<at::ScalarType> compute = std::nullopt);

}  // namespace gaussflow
