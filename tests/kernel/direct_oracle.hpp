#pragma once
/// Radial sums by their definition in long double; shares nothing with the engine.

#include "gaussflow/core/random.hpp"
#include "gaussflow/core/tensor.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gaussflow::oracle {

/// A tensor's numbers, row-major, with its extents.
struct Matrix {
  explicit Matrix(const Tensor& t) : rows(t.size(0)), columns(t.size(1)), data(to_vector(t.to(at::kDouble))) {}
  double operator()(std::int64_t i, std::int64_t j) const { return data[static_cast<std::size_t>(i * columns + j)]; }
  std::int64_t rows, columns;
  std::vector<double> data;
};

/// Φ of a squared distance.
using Radial = std::function<long double(long double)>;

inline Radial gaussian(double tau) {
  return [tau](long double r2) { return std::exp(-0.5L * tau * r2); };
}

/// Wanted numbers and the sums of absolute values that their errors are measured in, row-major.
struct Sums {
  std::int64_t columns = 0;
  std::vector<double> sum, absolute;
};

/// For each query: Σ_n Φ · term(m, n, column) over `columns` columns.
template <class Term>
Sums sums(const Tensor& q_, const Tensor& k_, std::int64_t columns, const Radial& radial, const Term& term) {
  const Matrix q(q_), k(k_);
  Sums result{columns, {}, {}};
  std::vector<long double> s(static_cast<std::size_t>(columns)), a(s);
  for (std::int64_t m = 0; m < q.rows; ++m) {
    std::fill(s.begin(), s.end(), 0.0L);
    std::fill(a.begin(), a.end(), 0.0L);
    for (std::int64_t n = 0; n < k.rows; ++n) {
      long double r2 = 0;
      for (std::int64_t i = 0; i < q.columns; ++i) {
        const long double d = static_cast<long double>(q(m, i)) - k(n, i);
        r2 += d * d;
      }
      const long double phi = radial(r2);
      for (std::int64_t c = 0; c < columns; ++c) {
        const long double x = phi * term(m, n, c);
        s[static_cast<std::size_t>(c)] += x;
        a[static_cast<std::size_t>(c)] += std::abs(x);
      }
    }
    result.sum.insert(result.sum.end(), s.begin(), s.end());
    result.absolute.insert(result.absolute.end(), a.begin(), a.end());
  }
  return result;
}

/// Σ_n Φ v_n.
inline Sums sums(const Tensor& q, const Tensor& k, const Tensor& v, const Radial& radial) {
  const Matrix values(v);
  return sums(q, k, v.size(1), radial, [&](std::int64_t, std::int64_t n, std::int64_t c) { return values(n, c); });
}

/// The worst column's ‖ŝ − s‖ / ‖Σ Φ|v|‖, 2-norms over the rows.                                    [accuracy contract]
inline double contract_error(const Tensor& got_, const Sums& want) {
  const Matrix got(got_);
  double worst = 0;
  for (std::int64_t c = 0; c < got.columns; ++c) {
    double error = 0, norm = 0;
    for (std::int64_t m = 0; m < got.rows; ++m) {
      const auto i = static_cast<std::size_t>(m * want.columns + c);
      error += (got(m, c) - want.sum[i]) * (got(m, c) - want.sum[i]);
      norm += want.absolute[i] * want.absolute[i];
    }
    const double ratio = error == 0 ? 0 : std::sqrt(error / norm);
    if (!(ratio <= worst)) worst = ratio;  // NaN counts
  }
  return worst;
}

inline double eps(at::ScalarType dtype) { return dtype == at::kFloat ? 1.2e-7 : 2.2e-16; }

/// Independent normal points: the same numbers for the same seed, whatever n.
inline Tensor cloud(std::uint64_t seed, std::int64_t n, std::int64_t d, at::ScalarType dtype, double scale = 1) {
  return (normal({seed, Stream::data, 0}, n, d) * scale).to(dtype);
}

}  // namespace gaussflow::oracle
