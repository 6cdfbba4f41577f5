#include "kernel/reference_blocks.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

namespace gaussflow {

namespace {

/// (hi, lo) += x without loss, for tensors.
void add(Tensor& hi, Tensor& lo, const Tensor& x) {
  const Tensor sum = hi + x;
  const Tensor part = sum - hi;
  lo += (hi - (sum - part)) + (x - part);
  hi = sum;
}

/// The leading 26 bits: products of two such are exact (Veltkamp).
Tensor head(const Tensor& x) {
  const Tensor c = x * 134217729.0;
  return c - (c - x);
}

/// τ/2 ‖q−k‖² of a block of pairs [B, M, N] as p + e. The same arithmetic as reference_rows, one array operation at a time.
std::pair<Tensor, Tensor> exponents(const Tensor& q, const Tensor& k, double tau, bool exact) {
  Tensor square = at::zeros({q.size(0), q.size(1), k.size(1)}, q.options()), rest = at::zeros_like(square);
  for (std::int64_t d = 0; d < q.size(2); ++d) {
    const Tensor x = q.select(2, d).unsqueeze(2), y = k.select(2, d).unsqueeze(1);
    const Tensor difference = x - y;
    if (!exact) {
      square.addcmul_(difference, difference);
      continue;
    }
    const Tensor part = difference - x;
    const Tensor lost = (x - (difference - part)) - (y + part);
    const Tensor a = head(difference), b = (difference - a) + lost;
    rest += (a * 2 + b) * b;
    add(square, rest, a * a);
  }
  const double t = tau / 2;
  if (!exact) return {square * t, rest};
  const Tensor h = square + rest, l = rest - (h - square);
  const double c = t * 134217729.0, t1 = c - (c - t), t2 = t - t1;
  const Tensor h1 = head(h), h2 = h - h1, p = h * t;
  return {p, ((h1 * t1 - p) + h1 * t2 + h2 * t1) + h2 * t2 + l * t};
}

Tensor profile(const Tensor& q, const Tensor& k, double tau, bool exact) {
  const auto [p, e] = exponents(q, k, tau, exact);
  return (at::exp(-p) * (1 - e)).masked_fill_(at::lt(p, 708.0).logical_not(), 0.0);  // NaN: it overflowed
}

/// A few problems of the batch, all keys in blocks.
Tensor of_part(const Tensor& q, const Tensor& k, const Tensor& v, double tau, bool exact, std::int64_t side) {
  Tensor s = at::empty({q.size(0), q.size(1), v.size(2)}, q.options());
  for (std::int64_t m = 0; m < q.size(1); m += side) {
    const std::int64_t count = std::min(side, q.size(1) - m);
    const Tensor block = q.narrow(1, m, count);
    Tensor hi = at::zeros({q.size(0), count, v.size(2)}, q.options()), lo = at::zeros_like(hi);
    for (std::int64_t n = 0; n < k.size(1); n += side) {
      const std::int64_t length = std::min(side, k.size(1) - n);
      add(hi, lo, at::bmm(profile(block, k.narrow(1, n, length), tau, exact), v.narrow(1, n, length)));
    }
    const Tensor sum = hi + lo;
    s.narrow(1, m, count).copy_(at::where(at::isfinite(sum), sum, hi));
  }
  return s;
}

}  // namespace

Tensor reference_profile(const Tensor& q, const Tensor& k, double tau) { return profile(q, k, tau, true); }

Tensor reference_blocks(const Tensor& q, const Tensor& k, const Tensor& v, double tau, ReferenceAccuracy accuracy) {
  constexpr std::int64_t side = 1024;  // pairs of a block: a million, and ten arrays of them at once
  const std::int64_t B = q.size(0);
  const std::int64_t pairs = std::min(side, q.size(1)) * std::min(side, k.size(1));
  const std::int64_t step =
      std::clamp<std::int64_t>(side * side / std::max<std::int64_t>(pairs, 1), 1, std::max<std::int64_t>(B, 1));
  Tensor s = at::empty({B, q.size(1), v.size(2)}, q.options());
  for (std::int64_t b = 0; b < B; b += step) {
    const auto part = [&](const Tensor& t) { return t.slice(0, b, b + step); };
    part(s).copy_(of_part(part(q), part(k), part(v), tau, accuracy == ReferenceAccuracy::fp64, side));
  }
  return s;
}

}  // namespace gaussflow
