// The sum for any D and C: squared distances of 4 queries × 4 panels in registers, their profile, a tile of it in the
// first or second cache, then its product with the values. Included once per SIMD target.
//
// Distances are sums of squared differences, never ‖q‖² + ‖k‖² − 2 q·k: fp32 differences of fp32 points are exact to the
// last bit, so no offset, no outlier and no τ costs accuracy. On a core with separate adders the subtraction is
// free (D = 128: 7.9 against 8.0 G vectors/s); 4 × 4 loses less to spills at small D than 4 × 6 (5.1 against 4.0 at D = 8).

#if defined(GAUSSFLOW_DIRECT_TILED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_TILED_INL
#undef GAUSSFLOW_DIRECT_TILED_INL
#else
#define GAUSSFLOW_DIRECT_TILED_INL
#endif

#include "kernel/direct/lanes-inl.hpp"
#include "kernel/direct/profiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Coordinates whose squares are added in one chain. One chain over D = 300 would lose √D bits of t, and Φ multiplies them
/// by t.
inline constexpr std::int64_t chain = 32;

/// t[r][i] := squared distances of Rows queries to the i-th register of Panels panels in coordinates [first, last).
template <int Rows, int Panels, class T, class V>
HWY_INLINE void squared_distances(const T* HWY_RESTRICT points, std::int64_t dim, const T* HWY_RESTRICT queries,
                                  std::int64_t first, std::int64_t last, V (&t)[Rows][Panels * panel_parts<T>]) {
  constexpr int width = panel_width<T>, parts = panel_parts<T>;
  const LanesOf<T> d;
  for (int r = 0; r < Rows; ++r) {
    for (int i = 0; i < Panels * parts; ++i) t[r][i] = hn::Zero(d);
  }
  for (std::int64_t x = first; x < last; ++x) {
    V q[Rows];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) q[r] = hn::Set(d, queries[x * group_size + r]);
#pragma GCC unroll 8
    for (int i = 0; i < Panels * parts; ++i) {
      const V k = hn::Load(d, points + (i / parts * dim + x) * width + i % parts * lanes<T>);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const V difference = hn::Sub(k, q[r]);
        t[r][i] = hn::MulAdd(difference, difference, t[r][i]);
      }
    }
  }
}

/// The profile of those distances, into Rows rows of the tile.
template <int Rows, int Panels, class F, class T>
HWY_INLINE void profile_tile(const F& profile, const T* HWY_RESTRICT points, std::int64_t dim, const T* HWY_RESTRICT queries,
                             T scale, T* HWY_RESTRICT tile) {
  constexpr int count = Panels * panel_parts<T>;
  const LanesOf<T> d;
  hn::Vec<LanesOf<T>> t[Rows][count];
  const auto at = [tile](int r, int i) { return tile + r * tile_stride<T> + i * lanes<T>; };
  std::int64_t first = 0;
  for (; first + chain < dim; first += chain) {
    squared_distances<Rows, Panels>(points, dim, queries, first, first + chain, t);
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < count; ++i) {
        hn::Store(first == 0 ? t[r][i] : hn::Add(t[r][i], hn::Load(d, at(r, i))), d, at(r, i));
      }
    }
  }
  squared_distances<Rows, Panels>(points, dim, queries, first, dim, t);
  if (first > 0) {
    for (int r = 0; r < Rows; ++r) {
      for (int i = 0; i < count; ++i) t[r][i] = hn::Add(t[r][i], hn::Load(d, at(r, i)));
    }
  }
  const auto s = hn::Set(d, scale);
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) hn::Store(profile(hn::Mul(t[r][i], s)), d, at(r, i));
  }
}

/// totals += tile · values for a group of queries and Channels channels of a part that is `stride` channels wide.
template <int Channels, class T>
HWY_INLINE void value_product(const T* HWY_RESTRICT tile, const T* HWY_RESTRICT values, int stride, int panels,
                              double* HWY_RESTRICT totals) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  const D d;
  V sum[Channels][group_size];
  for (int c = 0; c < Channels; ++c) {
    for (int r = 0; r < group_size; ++r) sum[c][r] = hn::Zero(d);
  }
  for (int p = 0; p < panels; ++p, tile += width, values += stride * width) {
#pragma GCC unroll 4
    for (int lane = 0; lane < width; lane += lanes<T>) {
      V v[Channels];
#pragma GCC unroll 8
      for (int c = 0; c < Channels; ++c) v[c] = hn::Load(d, values + c * width + lane);
#pragma GCC unroll 4
      for (int r = 0; r < group_size; ++r) {
        const V row = hn::Load(d, tile + r * tile_stride<T> + lane);
#pragma GCC unroll 8
        for (int c = 0; c < Channels; ++c) sum[c][r] = hn::MulAdd(row, v[c], sum[c][r]);
      }
    }
  }
  for (int c = 0; c < Channels; ++c) add_lane_sums(sum[c], totals + c * group_size);
}

/// value_product for a number of channels that is known at run time.
template <int Most, class T>
HWY_INLINE void value_channels(int channels, const T* tile, const T* values, int stride, int panels, double* totals) {
  if constexpr (Most > 0) {
    if (channels == Most) return value_product<Most>(tile, values, stride, panels, totals);
    value_channels<Most - 1>(channels, tile, values, stride, panels, totals);
  }
}

/// A part's channels, as many at once as there are registers for their sums.
template <class T>
void value_part(const T* tile, const T* values, int width, int panels, double* totals) {
  constexpr int most = many_registers ? channel_panel : channel_panel / 2;
  const int at_once = width <= most ? width : (width + 1) / 2;
  for (int c = 0; c < width; c += at_once) {
    value_channels<most>(width - c < at_once ? width - c : at_once, tile, values + c * panel_width<T>, width, panels,
                         totals + c * group_size);
  }
}

/// Brings the operands of the next step into the caches, a share at each turn of this one: they come from the third cache
/// or from memory, and the machine's own prefetching sees them too late (6 % of the time at D = C = 32, 8 % at 128).
template <class T>
class Prefetch {
 public:
  Prefetch(const T* first, std::int64_t count, int turns)
      : next_(first), end_(first + count), share_((count / line + turns - 1) / turns * line) {}
  HWY_INLINE void turn() {
    const T* const end = end_ - next_ < share_ ? end_ : next_ + share_;
    for (; next_ < end; next_ += line) __builtin_prefetch(next_);
  }

 private:
  static constexpr int line = panel_width<T>;
  const T* next_;
  const T* end_;
  std::int64_t share_;
};

/// `groups` groups from `first` on against Panels panels at a time, from `panel` on, as long as there are so many.
template <int Panels, class F, class T>
void fill_panels(const F& profile, const Block<T>& block, int first, int groups, int& panel) {
  constexpr int width = panel_width<T>;
  constexpr int rows = many_registers ? group_size : group_size / 2;
  const std::int64_t dim = block.keys.dim;
  for (; panel + Panels <= block.panels; panel += Panels) {  // a panel is read for all groups while it is near
    const T* const points = block.keys.points + (block.first_panel + panel) * dim * width;
    const int next = block.panels - panel - Panels < Panels ? 0 : Panels;
    Prefetch<T> prefetch(points + Panels * dim * width, next * dim * width, groups);
    for (int g = 0; g < groups; ++g) {
      prefetch.turn();
      const T* const queries = block.queries + (first + g) * dim * group_size;
      T* const tile = block.tile + g * group_size * tile_stride<T> + panel * width;
      for (int r = 0; r < group_size; r += rows) {
        profile_tile<rows, Panels>(profile, points, dim, queries + r, block.scale, tile + r * tile_stride<T>);
      }
    }
  }
}

/// Panels against which distances are taken at once: twelve sums at least, to hide the latency of a multiply-add, and the
/// panels of all D coordinates in the first cache.
template <class T>
inline constexpr int panels_at_once = many_registers        ? 4
                                      : panel_parts<T> == 2 ? 3
                                                            : 1;

/// The tile of `groups` groups from `first` on against all panels of the block.
template <class F, class T>
void fill_tile(const F& profile, const Block<T>& block, int first, int groups) {
  int panel = 0;
  fill_panels<panels_at_once<T>>(profile, block, first, groups, panel);
  fill_panels<1>(profile, block, first, groups, panel);
}

/// totals += tile · values.
template <class T>
void multiply_tile(const Block<T>& block, int first, int groups) {
  constexpr int width = panel_width<T>;
  const PackedKeys<T>& keys = block.keys;
  const ChannelParts parts(keys.channels);
  const auto values = [&](int part) {
    return keys.values + (keys.panels * parts.begin(part) + block.first_panel * parts.width(part)) * width;
  };
  const std::int64_t following = first + groups < block.groups ? block.first_panel : block.first_panel + block.panels;
  const std::int64_t next_panels = keys.panels - following < panels_at_once<T> ? 0 : panels_at_once<T>;
  for (int i = 0; i < parts.count; ++i) {
    Prefetch<T> prefetch =
        i + 1 < parts.count
            ? Prefetch<T>(values(i + 1), block.panels * parts.width(i + 1) * width, groups)
            : Prefetch<T>(keys.points + following * keys.dim * width, next_panels * keys.dim * width, groups);
    for (int g = 0; g < groups; ++g) {
      prefetch.turn();
      double* totals = block.totals + (std::int64_t(first + g) * keys.channels + parts.begin(i)) * group_size;
      value_part(block.tile + g * group_size * tile_stride<T>, values(i), parts.width(i), block.panels, totals);
    }
  }
}

template <class T>
void tiled_any(const Block<T>& block, Profile name) {
  with_profile<T>(name, [&](const auto& profile) {
    for (int first = 0; first < block.groups; first += tile_groups) {
      const int groups = block.groups - first < tile_groups ? block.groups - first : tile_groups;
      fill_tile(profile, block, first, groups);
      multiply_tile(block, first, groups);
    }
  });
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
