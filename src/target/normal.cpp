#include "gaussflow/target/normal.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/target/product.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace gaussflow {

namespace {

using Matrix = std::vector<std::vector<double>>;

/// Lower Cholesky factor; `failed` is the first row whose pivot is not positive, or the size.
Matrix cholesky(const Matrix& c, std::size_t& failed) {
  Matrix l(c.size(), std::vector<double>(c.size(), 0.0));
  for (failed = 0; failed < c.size(); ++failed) {
    const std::size_t i = failed;
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = c[i][j];
      for (std::size_t k = 0; k < j; ++k) rest -= l[i][k] * l[j][k];
      if (i != j)
        l[i][j] = rest / l[j][j];
      else if (rest > 1e-14 * c[i][i])
        l[i][i] = std::sqrt(rest);
      else
        return l;
    }
  }
  return l;
}

/// Inverse of a lower triangular matrix, row-major.
std::vector<double> inverse(const Matrix& l) {
  const std::size_t n = l.size();
  std::vector<double> w(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    w[i * n + i] = 1 / l[i][i];
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::size_t k = j; k < i; ++k) sum += l[i][k] * w[k * n + j];
      w[i * n + j] = -sum / l[i][i];
    }
  }
  return w;
}

double half_log_two_pi(std::size_t dim) { return 0.5 * static_cast<double>(dim) * std::log(2 * std::numbers::pi); }

}  // namespace

std::string covariance_fault(const Matrix& covariance, std::size_t dim) {
  if (covariance.size() != dim) return fmt::format("has {} rows where there are {} coordinates", covariance.size(), dim);
  for (std::size_t i = 0; i < dim; ++i)
    if (covariance[i].size() != dim)
      return fmt::format("has {} numbers in row {}, not {}", covariance[i].size(), i + 1, dim);
  for (std::size_t i = 0; i < dim; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (covariance[i][j] != covariance[j][i])
        return fmt::format("is not symmetric: row {}, column {} is {} but row {}, column {} is {}", i + 1, j + 1,
                           number_text(covariance[i][j]), j + 1, i + 1, number_text(covariance[j][i]));
  std::size_t failed = 0;
  cholesky(covariance, failed);
  if (failed == dim) return "";
  return fmt::format("is not positive definite: coordinate {} has no variance left given the ones before it", failed + 1);
}

Normal::Normal(const std::vector<double>& mean, const std::vector<double>& sd) : mean_(tensor_from(mean)) {
  if (mean.size() != sd.size()) throw InputError(fmt::format("{} means but {} standard deviations", mean.size(), sd.size()));
  for (const double s : sd) {
    if (!(s > 0)) throw InputError(fmt::format("a standard deviation must be > 0, got {}", number_text(s)));
    log_norm_ += std::log(s);
  }
  log_norm_ += half_log_two_pi(mean.size());
  variance_ = tensor_from(sd).square();
  inverse_sd_ = Constant(tensor_from(sd).reciprocal());
}

Normal::Normal(const std::vector<double>& mean, const Matrix& covariance) : mean_(tensor_from(mean)) {
  const std::string fault = covariance_fault(covariance, mean.size());
  if (!fault.empty()) throw InputError("the covariance " + fault);
  std::size_t failed = 0;
  const Matrix l = cholesky(covariance, failed);
  std::vector<double> variance;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    log_norm_ += std::log(l[i][i]);
    variance.push_back(covariance[i][i]);
  }
  log_norm_ += half_log_two_pi(mean.size());
  variance_ = tensor_from(variance);
  const auto dim = static_cast<std::int64_t>(mean.size());
  whitening_ = Constant(tensor_from(inverse(l), dim, dim));
}

Density Normal::density(const Tensor& x) const {
  const Tensor centred = x - mean_.like(x);
  Density result;
  Tensor u;
  if (whitening_.fp64().defined()) {
    const Tensor w = whitening_.like(x);
    u = row_product(centred, w.t());
    result.score = row_product(u, w).neg_();
  } else {
    const Tensor inverse_sd = inverse_sd_.like(x);
    u = centred * inverse_sd;
    result.score = (u * inverse_sd).neg_();
  }
  result.log_prob = u.square().sum(1).mul_(-0.5).sub_(log_norm_);
  return result;
}

}  // namespace gaussflow
