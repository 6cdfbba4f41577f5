#pragma once
/// The normal law: a target itself and a part of mixtures and transformed targets.

#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/target.hpp"

#include <string>
#include <vector>

namespace gaussflow {

/// N(mean, covariance), normalised.
///
/// Quadratic forms go through W = L⁻¹ of the Cholesky factor C = L Lᵀ: u = W (x − mean), log p = −‖u‖²/2 + …, score = −Wᵀ u.
/// The rounding error then grows with √cond(C), with an explicit C⁻¹ it would grow with cond(C).
class Normal {
 public:
  /// Independent coordinates.
  Normal(const std::vector<double>& mean, const std::vector<double>& sd);
  /// Throws  InputError when `covariance_fault` finds one.
  Normal(const std::vector<double>& mean, const std::vector<std::vector<double>>& covariance);

  Density density(const Tensor& x) const;
  const Tensor& mean() const { return mean_.fp64(); }
  const Tensor& variance() const { return variance_; }  ///< [D] fp64

 private:
  Constant mean_;
  Constant inverse_sd_;  ///< [D]; undefined when there are correlations
  Constant whitening_;   ///< W [D, D]; undefined for independent coordinates
  Tensor variance_;
  double log_norm_ = 0;  ///< ½ log det(2π C)
};

/// What keeps `covariance` from being one of `dim` coordinates ("is not symmetric: …"), or empty.
std::string covariance_fault(const std::vector<std::vector<double>>& covariance, std::size_t dim);

}  // namespace gaussflow
