#pragma once
/// Sums by a double loop over points in Eigen, sharing no code with the engine.

#include "gaussflow/core/tensor.hpp"

#include <ATen/ATen.h>
#include <Eigen/Core>

#include <cmath>

namespace oracle {

template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The numbers of a [n, d] tensor of any dtype and strides, exactly.
template <class Scalar = double>
Matrix<Scalar> matrix(const at::Tensor& t) {
  const std::vector<double> values = gaussflow::to_vector(t);
  return Eigen::Map<const Matrix<double>>(values.data(), t.size(0), t.size(1)).template cast<Scalar>();
}

inline at::Tensor tensor(const Matrix<double>& m) {
  return gaussflow::tensor_from(std::vector<double>(m.data(), m.data() + m.size()), m.rows(), m.cols());
}

template <class Scalar>
struct Sum {
  Matrix<Scalar> s;      ///< Σ_n Φ(q_m, k_n) v_n
  Matrix<Scalar> s_abs;  ///< Σ_n Φ(q_m, k_n) |v_n|, what errors are measured against
};

template <class Scalar = double>
Sum<Scalar> gauss_sum(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double tau) {
  const Matrix<Scalar> Q = matrix<Scalar>(q), K = matrix<Scalar>(k), V = matrix<Scalar>(v);
  Sum<Scalar> result{Matrix<Scalar>::Zero(Q.rows(), V.cols()), Matrix<Scalar>::Zero(Q.rows(), V.cols())};
  for (Eigen::Index m = 0; m < Q.rows(); ++m)
    for (Eigen::Index n = 0; n < K.rows(); ++n) {
      const Scalar phi = std::exp(-Scalar(tau) / 2 * (Q.row(m) - K.row(n)).squaredNorm());
      result.s.row(m) += phi * V.row(n);
      result.s_abs.row(m) += phi * V.row(n).cwiseAbs();
    }
  return result;
}

/// ∇_q Σ_n Φ(q_m, k_n) v_n = Σ_n Φ v_n τ (k_n − q_m), [M, D] for v [N, 1].
inline Matrix<double> gradient(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double tau) {
  const Matrix<double> Q = matrix(q), K = matrix(k), V = matrix(v);
  Matrix<double> g = Matrix<double>::Zero(Q.rows(), Q.cols());
  for (Eigen::Index m = 0; m < Q.rows(); ++m)
    for (Eigen::Index n = 0; n < K.rows(); ++n)
      g.row(m) += std::exp(-tau / 2 * (Q.row(m) - K.row(n)).squaredNorm()) * V(n, 0) * tau * (K.row(n) - Q.row(m));
  return g;
}

/// φ(q) = Σ_j a_j Φ(x_j, q) (s_j + τ (q − x_j)).
inline Matrix<double> stein(const at::Tensor& q, const at::Tensor& x, const at::Tensor& score, const at::Tensor& a,
                            double tau) {
  const Matrix<double> Q = matrix(q), X = matrix(x), S = matrix(score), A = matrix(a.unsqueeze(1));
  Matrix<double> phi = Matrix<double>::Zero(Q.rows(), Q.cols());
  for (Eigen::Index m = 0; m < Q.rows(); ++m)
    for (Eigen::Index j = 0; j < X.rows(); ++j)
      phi.row(m) +=
          A(j, 0) * std::exp(-tau / 2 * (Q.row(m) - X.row(j)).squaredNorm()) * (S.row(j) + tau * (Q.row(m) - X.row(j)));
  return phi;
}

}  // namespace oracle
