#pragma once
/// The sum by its definition in long double: shares nothing with the engine.

#include "gaussflow/core/tensor.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace gaussflow::oracle {

/// A tensor's numbers, row-major, with its extents.
struct Matrix {
  explicit Matrix(const Tensor& t) : rows(t.size(0)), columns(t.size(1)), data(to_vector(t.to(at::kDouble))) {}
  double operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
  std::int64_t rows, columns;
  std::vector<double> data;
};

using Profile = std::function<long double(long double squared_distance)>;

inline Profile gaussian(double tau) {
  return [tau](long double r2) { return std::exp(-0.5L * tau * r2); };
}

/// Σ_n Φ(q_m, k_n) v_n and Σ_n Φ |v_n|, both [M][C].
struct Sums {
  std::vector<double> sum, absolute;
};
inline Sums sums(const Tensor& q_, const Tensor& k_, const Tensor& v_, const Profile& profile) {
  const Matrix q(q_), k(k_), v(v_);
  Sums result;
  std::vector<long double> s(v.columns), a(v.columns);
  for (std::int64_t m = 0; m < q.rows; ++m) {
    std::fill(s.begin(), s.end(), 0.0L);
    std::fill(a.begin(), a.end(), 0.0L);
    for (std::int64_t n = 0; n < k.rows; ++n) {
      long double r2 = 0;
      for (std::int64_t i = 0; i < q.columns; ++i) {
        const long double d = static_cast<long double>(q(m, i)) - k(n, i);
        r2 += d * d;
      }
      const long double phi = profile(r2);
      for (std::int64_t c = 0; c < v.columns; ++c) {
        s[c] += phi * v(n, c);
        a[c] += std::abs(phi * v(n, c));
      }
    }
    result.sum.insert(result.sum.end(), s.begin(), s.end());
    result.absolute.insert(result.absolute.end(), a.begin(), a.end());
  }
  return result;
}

/// The worst column's ‖ŝ − s‖ / ‖Σ Φ|v|‖, 2-norms over the rows.                                    [accuracy contract]
inline double contract_error(const Tensor& got_, const Sums& want) {
  const Matrix got(got_);
  double worst = 0;
  for (std::int64_t c = 0; c < got.columns; ++c) {
    double error = 0, norm = 0;
    for (std::int64_t m = 0; m < got.rows; ++m) {
      const double e = got(m, c) - want.sum[m * got.columns + c], a = want.absolute[m * got.columns + c];
      error += e * e;
      norm += a * a;
    }
    const double ratio = error == 0 ? 0 : std::sqrt(error / norm);
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

}  // namespace gaussflow::oracle
