// Lanes of a panel, and their sums. Included once per SIMD target.

#if defined(GAUSSFLOW_DIRECT_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_LANES_INL
#undef GAUSSFLOW_DIRECT_LANES_INL
#else
#define GAUSSFLOW_DIRECT_LANES_INL
#endif

#include "kernel/direct/layout.hpp"

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One register's share of a panel: all of it with 512 bits, half with 256. Kernels run over the parts one after the other.
template <class T>
using LanesOf = hn::CappedTag<T, panel_width<T>>;
template <class T>
inline constexpr int lanes = static_cast<int>(hn::MaxLanes(LanesOf<T>()));
template <class T>
inline constexpr int panel_parts = panel_width<T> / lanes<T>;

/// Registers: what a kernel may keep in them decides its shape.
inline constexpr bool many_registers = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_ARCH_ARM_A64;

/// totals[r] += the sum of all lanes of sum[r], for the four queries of a group: transposed as far as possible, then in
/// fp64.
template <class V>
HWY_INLINE void add_lane_sums(const V (&sum)[group_size], double* HWY_RESTRICT totals) {
  using T = hn::TFromV<V>;
  const LanesOf<T> d;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 4 && lanes<T> >= 8) {
    // Per 128 bits: (a a b b) + …, then (a b c d); the 128-bit parts are then added in fp64.
    const V ab = hn::Add(hn::InterleaveLower(d, sum[0], sum[1]), hn::InterleaveUpper(d, sum[0], sum[1]));
    const V cd = hn::Add(hn::InterleaveLower(d, sum[2], sum[3]), hn::InterleaveUpper(d, sum[2], sum[3]));
    const hn::Repartition<double, decltype(d)> pairs;
    const auto ab2 = hn::BitCast(pairs, ab);
    const auto cd2 = hn::BitCast(pairs, cd);
    const V abcd =
        hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, ab2, cd2)), hn::BitCast(d, hn::InterleaveUpper(pairs, ab2, cd2)));
    const hn::Half<decltype(d)> half;
    const hn::Rebind<double, decltype(half)> wide;
    const auto eight =
        hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, abcd)), hn::PromoteTo(wide, hn::UpperHalf(half, abcd)));
    const hn::CappedTag<double, 4> four;
    if constexpr (lanes<T> == 16) {
      const auto folded = hn::Add(hn::LowerHalf(four, eight), hn::UpperHalf(four, eight));
      hn::StoreU(hn::Add(hn::LoadU(four, totals), folded), four, totals);
    } else {
      hn::StoreU(hn::Add(hn::LoadU(four, totals), eight), four, totals);
    }
  } else if constexpr (sizeof(T) == 8 && lanes<T> >= 4) {
    const V ab = hn::Add(hn::InterleaveLower(d, sum[0], sum[1]), hn::InterleaveUpper(d, sum[0], sum[1]));
    const V cd = hn::Add(hn::InterleaveLower(d, sum[2], sum[3]), hn::InterleaveUpper(d, sum[2], sum[3]));
    const auto fold = [](auto v) {
      const hn::CappedTag<double, 2> two;
      if constexpr (lanes<T> == 8) {
        const hn::CappedTag<double, 4> four;
        const auto w = hn::Add(hn::LowerHalf(four, v), hn::UpperHalf(four, v));
        return hn::Add(hn::LowerHalf(two, w), hn::UpperHalf(two, w));
      } else {
        return hn::Add(hn::LowerHalf(two, v), hn::UpperHalf(two, v));
      }
    };
    const hn::CappedTag<double, 2> two;
    hn::StoreU(hn::Add(hn::LoadU(two, totals), fold(ab)), two, totals);
    hn::StoreU(hn::Add(hn::LoadU(two, totals + 2), fold(cd)), two, totals + 2);
  } else
#endif
  {
    alignas(64) T entries[panel_width<T>];
    for (int r = 0; r < group_size; ++r) {
      hn::Store(sum[r], d, entries);
      double total = 0;
      for (int i = 0; i < lanes<T>; ++i) total += entries[i];
      totals[r] += total;
    }
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
