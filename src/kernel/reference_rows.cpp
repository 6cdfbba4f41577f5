#include "kernel/reference_rows.hpp"

#include <algorithm>
#include <vector>

// One binary for every x86-64 machine. The build allows no contraction to FMA, so all clones give the same bits.
#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(target_clones)
#define GAUSSFLOW_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif
#ifndef GAUSSFLOW_CLONES
#define GAUSSFLOW_CLONES
#endif
#define GAUSSFLOW_INLINE [[gnu::always_inline]] inline

namespace gaussflow {

namespace {

// Eight queries side by side: lanes never meet, so a row's sum runs over the keys in their order.
using Real = double __attribute__((vector_size(64)));
using Bits = std::int64_t __attribute__((vector_size(64)));
constexpr std::int64_t lanes = 8;
constexpr std::int64_t wide = 2;   // vectors of queries in flight
constexpr std::int64_t keys = 32;  // plain sums are this short; then (hi, lo)
constexpr std::int64_t rows = lanes * wide;

/// The leading 26 bits of each entry, so that products of two such are exact.
GAUSSFLOW_INLINE void head(Real& out, const Real& x) { out = (Real)((Bits)x & ~((std::int64_t{1} << 27) - 1)); }

/// (hi, lo) += x without loss (Knuth's TwoSum).
GAUSSFLOW_INLINE void add(Real& hi, Real& lo, const Real& x) {
  const Real sum = hi + x;
  const Real part = sum - hi;
  lo += (hi - (sum - part)) + (x - part);
  hi = sum;
}

/// e^{-(p + e)} for p ≥ 0 and tiny e, 0 from p = 708 on and where p is NaN (the distance overflowed).
GAUSSFLOW_INLINE void exp_minus(Real& out, const Real& p, const Real& e) {
  constexpr double magic = 6755399441055744.0;  // 1.5·2⁵²: adding it rounds to an integer, left in the low bits
  constexpr double log2e = 1.4426950408889634074;
  constexpr double ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33;  // n·ln2_hi is exact for n < 2²⁰
  const Real shifted = p * log2e + magic;
  const Real n = shifted - magic;
  const Real r = ((n * ln2_hi - p) + n * ln2_lo) - e;  // −r of the textbook: |r| ≤ ln2/2
  Real y = r * (1.0 / 6227020800) + 1.0 / 479001600;   // Taylor to degree 13: truncation 4e-18
  y = y * r + 1.0 / 39916800;
  y = y * r + 1.0 / 3628800;
  y = y * r + 1.0 / 362880;
  y = y * r + 1.0 / 40320;
  y = y * r + 1.0 / 5040;
  y = y * r + 1.0 / 720;
  y = y * r + 1.0 / 120;
  y = y * r + 1.0 / 24;
  y = y * r + 1.0 / 6;
  y = y * r + 0.5;
  y = y * r * r + r;
  y = y + 1.0;
  const Bits bits = (Bits)shifted - std::int64_t{0x4338000000000000};  // n
  const Real scale = (Real)((1023 - bits) << 52);
  out = (Real)((Bits)(y * scale) & (p < 708.0));
}

/// Φ of `rows` queries, transposed in q [D][rows], with one key.
template <bool exact>
GAUSSFLOW_INLINE void weights(Real* phi, const double* q, const double* key, std::int64_t D, double half_tau) {
  Real square[wide] = {}, rest[wide] = {};
  for (std::int64_t d = 0; d < D; ++d) {
    for (std::int64_t w = 0; w < wide; ++w) {
      const Real x = *reinterpret_cast<const Real*>(q + d * rows + w * lanes);
      const Real y = key[d] - Real{};
      const Real difference = x - y;
      if constexpr (!exact) {
        square[w] += difference * difference;
      } else {
        const Real part = difference - x;
        const Real lost = (x - (difference - part)) - (y + part);
        Real a;
        head(a, difference);
        const Real b = (difference - a) + lost;
        rest[w] += (a + a + b) * b;
        add(square[w], rest[w], a * a);
      }
    }
  }
  for (std::int64_t w = 0; w < wide; ++w) {
    Real p, e = {};
    if constexpr (!exact) {
      p = square[w] * half_tau;
    } else {
      const Real h = square[w] + rest[w];
      const Real l = rest[w] - (h - square[w]);
      const Real t = half_tau - Real{};
      Real h1, t1;
      head(h1, h);
      head(t1, t);
      const Real h2 = h - h1, t2 = t - t1;
      p = h * t;
      e = ((h1 * t1 - p) + h1 * t2 + h2 * t1) + h2 * t2 + l * t;
    }
    exp_minus(phi[w], p, e);
  }
}

template <bool exact>
GAUSSFLOW_INLINE void block(const RowsProblem& p, std::int64_t first, std::int64_t count, double* buffer) {
  double* q = buffer;  // [D][rows]; missing queries repeat the last one
  for (std::int64_t d = 0; d < p.D; ++d)
    for (std::int64_t r = 0; r < rows; ++r) q[d * rows + r] = p.q[(first + std::min(r, count - 1)) * p.D + d];
  Real* total = reinterpret_cast<Real*>(buffer + p.D * rows);  // [C][hi, lo][wide]
  std::fill_n(total, p.C * 2 * wide, Real{});
  Real phi[keys * wide];
  for (std::int64_t n0 = 0; n0 < p.N; n0 += keys) {
    const std::int64_t length = std::min(keys, p.N - n0);
    for (std::int64_t n = 0; n < length; ++n) weights<exact>(phi + n * wide, q, p.k + (n0 + n) * p.D, p.D, p.tau / 2);
    for (std::int64_t c = 0; c < p.C; ++c) {
      Real sum[wide] = {};
      for (std::int64_t n = 0; n < length; ++n)
        for (std::int64_t w = 0; w < wide; ++w) sum[w] += phi[n * wide + w] * p.v[(n0 + n) * p.C + c];
      for (std::int64_t w = 0; w < wide; ++w) add(total[c * 2 * wide + w], total[c * 2 * wide + wide + w], sum[w]);
    }
  }
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t c = 0; c < p.C; ++c) {
      const double hi = total[c * 2 * wide + r / lanes][r % lanes];
      const double lo = total[c * 2 * wide + wide + r / lanes][r % lanes];
      const double sum = hi + lo;
      p.s[(first + r) * p.C + c] = sum == sum ? sum : hi;  // an overflowed hi leaves inf − inf in lo
    }
}

GAUSSFLOW_CLONES void rows_plain(const RowsProblem& p, std::int64_t begin, std::int64_t end, double* buffer) {
  for (std::int64_t m = begin; m < end; m += rows) block<false>(p, m, std::min(rows, end - m), buffer);
}

GAUSSFLOW_CLONES void rows_exact(const RowsProblem& p, std::int64_t begin, std::int64_t end, double* buffer) {
  for (std::int64_t m = begin; m < end; m += rows) block<true>(p, m, std::min(rows, end - m), buffer);
}

}  // namespace

void reference_rows(const RowsProblem& problem, bool exact, std::int64_t begin, std::int64_t end) {
  struct alignas(sizeof(Real)) Line {
    double x[lanes];
  };
  std::vector<Line> buffer(wide * (problem.D + 2 * problem.C));
  (exact ? rows_exact : rows_plain)(problem, begin, end, buffer.data()->x);
}

}  // namespace gaussflow
