#include "gaussflow/kernel/reference.hpp"

#include "kernel/reference_rows.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace gaussflow {

namespace {

Tensor plain(const Tensor& t) { return t.detach().to(at::kDouble).contiguous(); }

/// Calls work(begin, end) on pieces of [0, count). Threads of our own: at::parallel_for is serial where OpenMP is off.
template <class Work>
void in_parallel(std::int64_t count, bool worthwhile, const Work& work) {
  const std::int64_t threads = worthwhile ? std::min<std::int64_t>(at::get_num_threads(), count) : 1;
  std::vector<std::jthread> others;
  for (std::int64_t t = 1; t < threads; ++t)
    others.emplace_back([&work, count, threads, t] { work(count * t / threads, count * (t + 1) / threads); });
  work(0, count / threads);
}

Tensor on_cpu(const Tensor& q, const Tensor& k, const Tensor& v, double tau, bool exact) {
  const std::int64_t B = q.size(0), M = q.size(1), N = k.size(1), D = q.size(2), C = v.size(2);
  Tensor s = at::empty({B, M, C}, q.options());
  constexpr std::int64_t piece = 64;  // rows a thread takes at once
  const std::int64_t pieces = (M + piece - 1) / piece;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / pieces, row = i % pieces * piece;
      const RowsProblem problem{q.const_data_ptr<double>() + b * M * D,
                                k.const_data_ptr<double>() + b * N * D,
                                v.const_data_ptr<double>() + b * N * C,
                                s.mutable_data_ptr<double>() + b * M * C,
                                M,
                                N,
                                D,
                                C,
                                tau};
      reference_rows(problem, exact, row, std::min(M, row + piece));
    }
  };
  in_parallel(B * pieces, B * M * N * (D + C) > 200'000, work);
  return s;
}

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

Tensor on_device(const Tensor& q, const Tensor& k, const Tensor& v, double tau, bool exact) {
  constexpr std::int64_t rows = 1024, keys = 1024;
  Tensor s = at::empty({q.size(0), q.size(1), v.size(2)}, q.options());
  for (std::int64_t m = 0; m < q.size(1); m += rows) {
    const std::int64_t count = std::min(rows, q.size(1) - m);
    const Tensor block = q.narrow(1, m, count);
    Tensor hi = at::zeros({q.size(0), count, v.size(2)}, q.options()), lo = at::zeros_like(hi);
    for (std::int64_t n = 0; n < k.size(1); n += keys) {
      const std::int64_t length = std::min(keys, k.size(1) - n);
      const auto [p, e] = exponents(block, k.narrow(1, n, length), tau, exact);
      const Tensor phi = (at::exp(-p) * (1 - e)).masked_fill_(at::lt(p, 708.0).logical_not(), 0.0);
      add(hi, lo, at::bmm(phi, v.narrow(1, n, length)));
    }
    const Tensor sum = hi + lo;
    s.narrow(1, m, count).copy_(at::where(at::isfinite(sum), sum, hi));
  }
  return s;
}

}  // namespace

Tensor reference_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau, ReferenceAccuracy accuracy) {
  const bool exact = accuracy == ReferenceAccuracy::fp64;
  const Tensor q64 = plain(q), k64 = k.is_same(q) ? q64 : plain(k), v64 = plain(v);
  return q.is_cpu() ? on_cpu(q64, k64, v64, tau, exact) : on_device(q64, k64, v64, tau, exact);
}

}  // namespace gaussflow
