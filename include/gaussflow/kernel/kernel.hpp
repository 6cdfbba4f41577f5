#pragma once
/// What a flow sees of the sum: fields and Stein directions of a kernel, not how they are evaluated.

#include "gaussflow/kernel/gauss_sum.hpp"

namespace gaussflow {

/// How ∇f is computed.
enum class Gradient { eq8, autograd };

/// The Gaussian kernel Φ_τ with the options its sums are evaluated with.
class Kernel {
 public:
  explicit Kernel(GaussSumOptions options) : options_(std::move(options)) {}

  double tau() const { return options_.tau; }
  const GaussSumOptions& options() const { return options_; }

  /// Witness f(q) = Σ_n w_n Φ(q, k_n) and ∇f(q).   Shapes  q [M, D], k [N, D], weights [N].            [Eq. (8)]
  ValueAndGradient field(const Tensor& q, const Tensor& k, const Tensor& weights, Gradient gradient = Gradient::eq8) const;

  /// SVGD direction φ(q) = Σ_j a_j [Φ(x_j, q) s_j + ∇_{x_j} Φ(x_j, q)]: one sum with values a_j (s_j − τ x_j, 1).
  /// Shapes  q [M, D], x [N, D], score [N, D], a [N] → [M, D].                     [Liu & Wang 2016, eq. (8); C = D+1]
  Tensor stein(const Tensor& q, const Tensor& x, const Tensor& score, const Tensor& a) const;

 private:
  GaussSumOptions options_;
};

}  // namespace gaussflow
