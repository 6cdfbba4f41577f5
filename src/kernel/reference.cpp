#include "gaussflow/kernel/reference.hpp"

#include "kernel/reference_blocks.hpp"
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

}  // namespace

Tensor reference_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau, ReferenceAccuracy accuracy) {
  const bool exact = accuracy == ReferenceAccuracy::fp64;
  const Tensor q64 = plain(q), k64 = k.is_same(q) ? q64 : plain(k), v64 = plain(v);
  return q.is_cpu() ? on_cpu(q64, k64, v64, tau, exact) : reference_blocks(q64, k64, v64, tau, accuracy);
}

}  // namespace gaussflow
