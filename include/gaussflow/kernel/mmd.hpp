#pragma once
/// Squared maximum mean discrepancy of two weighted clouds.

#include "gaussflow/kernel/options.hpp"

#include <optional>

namespace gaussflow {

/// Two clouds as one signed measure: z = [x; y], v = [a; −b]; undefined weights are uniform.
/// Shapes  x [n, D], y [m, D], a [n], b [m], each weights' sum 1.
struct SignedMeasure {
  Tensor points;   ///< [n + m, D]
  Tensor weights;  ///< [n + m]
};
SignedMeasure signed_measure(const Tensor& x, const Tensor& y, const Tensor& a = {}, const Tensor& b = {});

/// The three forms whose sum is MMD² = aᵀK a + bᵀK b − 2 aᵀK b, and what follows from them.
struct MmdForms {
  double xx = 0, yy = 0, xy = 0;
  double aa = 0, bb = 0;  ///< Σ a², Σ b²: the diagonals' share of xx and yy
  bool single = false;    ///< one of the clouds is one point
  double eps = 0;         ///< of the type inside the sums
  Tensor pull;            ///< [n] fp64, Σ_j b_j Φ(x_i, y_j): what each x feels of y

  double biased() const;                   ///< MMD²_V; 0 below its resolution, where it is rounding and may be negative
  std::optional<double> unbiased() const;  ///< MMD²_U; empty for a cloud of one point
  double resolution() const;               ///< what rounding may have made of the biased value: 4 eps (xx + yy + 2 xy)
};
/// `yy`, where it is known, saves its sum. Undefined weights are uniform.
MmdForms mmd_forms(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b, const GaussSumOptions& options,
                   std::optional<double> yy = std::nullopt);

/// MMD²_V = vᵀ s on the joined cloud: the biased statistic and the energy of the flow; the diagonal counts.    [Eq. (7)]
double mmd_squared(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b, const GaussSumOptions& options);

/// MMD²_U, the unbiased statistic: may be negative; empty for a cloud of one point, where it is undefined.
std::optional<double> mmd_squared_unbiased(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b,
                                           const GaussSumOptions& options);

/// Energy distance 2 E‖X−Y‖ − E‖X−X'‖ − E‖Y−Y'‖ (V-statistic), blocked, linear memory.
double energy_distance(const Tensor& x, const Tensor& y, const Tensor& a, const Tensor& b);

/// Squared kernel Stein discrepancy of x (V-statistic) under the Gaussian kernel: one sum with C = 2D+1.   [flows 1.6]
double ksd_squared(const Tensor& x, const Tensor& score, const Tensor& a, const GaussSumOptions& options);

}  // namespace gaussflow
