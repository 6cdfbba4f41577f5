#pragma once
/// The accuracy contract of the sums, and why its bounds are what they are.
///
/// Measure. Per problem and value column, the 2-norm over the rows: ‖ŝ − s‖ against ‖Σ Φ|v|‖. Never ‖s‖: with signed v the
/// terms cancel, and a backward-stable sum may lose all digits of s.
///
/// Bounds, in eps of the dtype inside the reduction:
///  * automatic, reference: 32. Sums are (hi, lo) over short blocks, exponents come from differences.
///  * reweight, prescale, logit in fp32 and fp64: 8 + τR²/2, R the largest norm after centring. The exponent
///    q·k − ‖q‖²/2 − ‖k‖²/2 is formed from terms of size τR²/2, each rounded; 8 for the exponential, the sums and the
///    division.
///  * the same in half types: 10. Norms are hi + lo, so only coordinates, weights, values and the result are rounded.
///
/// Underflow. Φ below the smallest normal number of the dtype is 0: at most N max|v| of it is lost in a row, and as much in
/// the result.

#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/oracle.hpp"

#include <algorithm>
#include <cmath>

namespace contract {

inline double eps(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
      return 0x1p-52;
    case at::kFloat:
      return 0x1p-23;
    case at::kHalf:
      return 0x1p-10;
    default:
      return 0x1p-7;
  }
}

inline double smallest(at::ScalarType dtype) { return dtype == at::kDouble ? 0x1p-1022 : 0x1p-126; }

/// τR² of one problem: [M, D] and [N, D].
inline double range(const at::Tensor& q, const at::Tensor& k, double tau) {
  const at::Tensor all = at::cat({q.to(at::kDouble), k.to(at::kDouble)}, 0);
  return tau * (all - all.mean(0, true)).pow(2).sum(1).max().item<double>();
}

inline double bound(gaussflow::Reduction reduction, at::ScalarType dtype, double range) {
  using enum gaussflow::Reduction;
  if (reduction == automatic || reduction == reference || reduction == direct) return 32 * eps(dtype);
  return dtype == at::kDouble || dtype == at::kFloat ? (8 + range / 2) * eps(dtype) : 10 * eps(dtype);
}

/// The worst column's error as a multiple of what `bound` allows: the contract holds when it is ≤ 1. NaN counts as infinite.
template <class Scalar>
double excess(const at::Tensor& s, const oracle::Sum<Scalar>& exact, const at::Tensor& v, at::ScalarType dtype,
              double bound) {
  const oracle::Matrix<Scalar> S = oracle::matrix<Scalar>(s);
  const oracle::Matrix<Scalar> V = oracle::matrix<Scalar>(v);
  double worst = 0;
  for (Eigen::Index c = 0; c < S.cols(); ++c) {
    const Scalar lost = V.rows() == 0 ? Scalar(0) : V.col(c).cwiseAbs().maxCoeff() * Scalar(V.rows());
    const Scalar underflow = std::sqrt(Scalar(S.rows())) * (lost + 1) * Scalar(smallest(dtype));
    const Scalar allowed = Scalar(bound) * exact.s_abs.col(c).norm() + underflow;
    const Scalar error = (S.col(c) - exact.s.col(c)).norm();
    worst = std::max(worst, std::isfinite(static_cast<double>(error)) ? static_cast<double>(error / allowed) : INFINITY);
  }
  return worst;
}

}  // namespace contract
