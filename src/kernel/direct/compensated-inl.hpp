// The tiled sum with exponents in twice the precision of T. Included once per SIMD target.
//
// For rows whose keys are all so far away that the error of their exponent, times the exponent, would show. Differences,
// squares and their sums carry their rounding errors along (Knuth's TwoSum, products by multiply-add), about nine times the
// work. These files are compiled without contraction: a multiply-add stands here only where it is written.

#if defined(GAUSSFLOW_DIRECT_COMPENSATED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_COMPENSATED_INL
#undef GAUSSFLOW_DIRECT_COMPENSATED_INL
#else
#define GAUSSFLOW_DIRECT_COMPENSATED_INL
#endif

#include "kernel/direct/tiled-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// high + low, unevaluated.
template <class V>
struct Pair {
  V high, low;
};

template <class V>
HWY_INLINE Pair<V> two_sum(V a, V b) {
  const V sum = hn::Add(a, b);
  const V of_b = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, of_b)), hn::Sub(b, of_b))};
}

/// One row of the tile against one panel.
template <class T>
HWY_INLINE void compensated_row(const Exp2Neg<LanesOf<T>>& exp2_neg, const Block<T>& block, const T* HWY_RESTRICT points,
                                const T* HWY_RESTRICT query, T* HWY_RESTRICT tile) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  const D d;
  Pair<V> t{hn::Zero(d), hn::Zero(d)};
  for (int i = 0; i < block.keys.dim; ++i) {
    const Pair<V> x = two_sum(hn::Load(d, points + i * panel_width<T>), hn::Set(d, -query[i * group_size]));
    const V square = hn::Mul(x.high, x.high);
    const V square_low = hn::MulAdd(hn::Add(x.high, x.high), x.low, hn::MulSub(x.high, x.high, square));
    const Pair<V> sum = two_sum(t.high, square);
    t = {sum.high, hn::Add(t.low, hn::Add(sum.low, square_low))};
  }
  const V scale = hn::Set(d, block.scale);
  const V high = hn::Mul(t.high, scale);
  const V low = hn::MulAdd(t.high, hn::Set(d, block.scale_low), hn::MulAdd(t.low, scale, hn::MulSub(t.high, scale, high)));
  const V end = hn::Set(d, largest_exponent<T>);
  const auto in_range = hn::Lt(high, end);
  const V phi = exp2_neg.corrected(hn::Min(end, high), [&](V h) { return hn::Add(h, hn::IfThenElseZero(in_range, low)); });
  hn::Store(phi, d, tile);
}

template <class T>
void compensated_any(const Block<T>& block) {
  constexpr int width = panel_width<T>;
  const Exp2Neg<LanesOf<T>> exp2_neg{LanesOf<T>()};
  const std::int64_t dim = block.keys.dim;
  for (int first = 0; first < block.groups; first += tile_groups) {
    const int groups = block.groups - first < tile_groups ? block.groups - first : tile_groups;
    for (int p = 0; p < block.panels; ++p) {
      const T* points = block.keys.points + (block.first_panel + p) * dim * width;
      for (int row = 0; row < groups * group_size; ++row) {
        const T* query = block.queries + (first + row / group_size) * dim * group_size + row % group_size;
        for (int lane = 0; lane < width; lane += lanes<T>) {
          compensated_row(exp2_neg, block, points + lane, query, block.tile + row * tile_stride<T> + p * width + lane);
        }
      }
    }
    multiply_tile(block, first, groups);
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
