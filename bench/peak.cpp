#include "rows.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cpp"
// clang-format off: compiled once per SIMD target by way of this header.
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/highway.h>

#include <algorithm>
#include <ctime>

HWY_BEFORE_NAMESPACE();
namespace gaussflow::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Lanes × multiply-adds in `rounds` rounds of twelve independent chains: more than latency × throughput anywhere.
template <class T>
double chains(long rounds) {
  const hn::ScalableTag<T> d;
  auto a = hn::Set(d, T(1)), x = hn::Set(d, T(0.999)), y = hn::Set(d, T(1e-3));
  hn::Vec<decltype(d)> s[12];
  for (auto& v : s) v = a;
  for (long i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int j = 0; j < 12; ++j) s[j] = hn::MulAdd(s[j], x, y);
  }
  for (int j = 1; j < 12; ++j) s[0] = hn::Add(s[0], s[j]);
  volatile T keep = hn::GetLane(s[0]);
  (void)keep;
  return 12.0 * static_cast<double>(rounds) * static_cast<double>(hn::Lanes(d));
}
double chains_fp32(long rounds) { return chains<float>(rounds); }
double chains_fp64(long rounds) { return chains<double>(rounds); }

}  // namespace gaussflow::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gaussflow::bench {

HWY_EXPORT(chains_fp32);
HWY_EXPORT(chains_fp64);

namespace {
template <class F>
double best_rate(const F& f) {
  double best = 0;
  for (int i = 0; i < 9; ++i) {
    timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    const double done = f(1000000);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    best = std::max(best,
                    done / (static_cast<double>(b.tv_sec - a.tv_sec) + 1e-9 * static_cast<double>(b.tv_nsec - a.tv_nsec)));
  }
  return best;
}
}  // namespace

double fma_peak_fp32() {
  return best_rate([](long n) { return HWY_DYNAMIC_DISPATCH(chains_fp32)(n); });
}
double fma_peak_fp64() {
  return best_rate([](long n) { return HWY_DYNAMIC_DISPATCH(chains_fp64)(n); });
}

}  // namespace gaussflow::bench
#endif
