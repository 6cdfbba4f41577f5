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

/// t[r][p] := squared distances of a group of queries to Panels panels (their part of the lanes) in coordinates [first,
/// last).
template <int Panels, class T, class V>
HWY_INLINE void squared_distances(const T* HWY_RESTRICT points, std::int64_t dim, const T* HWY_RESTRICT queries,
                                  std::int64_t first, std::int64_t last, V (&t)[group_size][Panels]) {
  constexpr int width = panel_width<T>;
  const LanesOf<T> d;
  for (int r = 0; r < group_size; ++r) {
    for (int p = 0; p < Panels; ++p) t[r][p] = hn::Zero(d);
  }
  for (std::int64_t i = first; i < last; ++i) {
    V q[group_size];
#pragma GCC unroll 4
    for (int r = 0; r < group_size; ++r) q[r] = hn::Set(d, queries[i * group_size + r]);
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      const V k = hn::Load(d, points + (p * dim + i) * width);
#pragma GCC unroll 4
      for (int r = 0; r < group_size; ++r) {
        const V difference = hn::Sub(k, q[r]);
        t[r][p] = hn::MulAdd(difference, difference, t[r][p]);
      }
    }
  }
}

/// The profile of those distances, into four rows of the tile.
template <int Panels, class F, class T>
HWY_INLINE void profile_tile(const F& profile, const T* HWY_RESTRICT points, std::int64_t dim, const T* HWY_RESTRICT queries,
                             T scale, T* HWY_RESTRICT tile) {
  constexpr int width = panel_width<T>;
  const LanesOf<T> d;
  hn::Vec<LanesOf<T>> t[group_size][Panels];
  const auto at = [tile](int r, int p) { return tile + r * tile_stride<T> + p * width; };
  std::int64_t first = 0;
  for (; first + chain < dim; first += chain) {
    squared_distances<Panels>(points, dim, queries, first, first + chain, t);
    for (int r = 0; r < group_size; ++r) {
      for (int p = 0; p < Panels; ++p)
        hn::Store(first == 0 ? t[r][p] : hn::Add(t[r][p], hn::Load(d, at(r, p))), d, at(r, p));
    }
  }
  squared_distances<Panels>(points, dim, queries, first, dim, t);
  if (first > 0) {
    for (int r = 0; r < group_size; ++r) {
      for (int p = 0; p < Panels; ++p) t[r][p] = hn::Add(t[r][p], hn::Load(d, at(r, p)));
    }
  }
  const auto s = hn::Set(d, scale);
#pragma GCC unroll 4
  for (int r = 0; r < group_size; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) hn::Store(profile(hn::Mul(t[r][p], s)), d, at(r, p));
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
  for (int part = 0; part < panel_parts<T>; ++part) {
    V sum[Channels][group_size];
    for (int c = 0; c < Channels; ++c) {
      for (int r = 0; r < group_size; ++r) sum[c][r] = hn::Zero(d);
    }
    const T* HWY_RESTRICT phi = tile + part * lanes<T>;
    const T* HWY_RESTRICT value = values + part * lanes<T>;
    for (int p = 0; p < panels; ++p, phi += width, value += stride * width) {
      V v[Channels];
#pragma GCC unroll 8
      for (int c = 0; c < Channels; ++c) v[c] = hn::Load(d, value + c * width);
#pragma GCC unroll 4
      for (int r = 0; r < group_size; ++r) {
        const V row = hn::Load(d, phi + r * tile_stride<T>);
#pragma GCC unroll 8
        for (int c = 0; c < Channels; ++c) sum[c][r] = hn::MulAdd(row, v[c], sum[c][r]);
      }
    }
    for (int c = 0; c < Channels; ++c) add_lane_sums(sum[c], totals + c * group_size);
  }
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

/// The tile of `groups` groups from `first` on against all panels of the block.
template <class F, class T>
void fill_tile(const F& profile, const Block<T>& block, int first, int groups) {
  constexpr int width = panel_width<T>;
  constexpr int at_once = many_registers ? 4 : 2;  // panels
  const std::int64_t dim = block.keys.dim;
  const T* const points = block.keys.points + block.first_panel * dim * width;
  for (int part = 0; part < panel_parts<T>; ++part) {
    const int lane = part * lanes<T>;
    const auto tile = [&](int g, int p) { return block.tile + g * group_size * tile_stride<T> + p * width + lane; };
    const auto queries = [&](int g) { return block.queries + (first + g) * dim * group_size; };
    int p = 0;
    for (; p + at_once <= block.panels; p += at_once) {  // a panel is read for all groups while it is near
      for (int g = 0; g < groups; ++g) {
        profile_tile<at_once>(profile, points + p * dim * width + lane, dim, queries(g), block.scale, tile(g, p));
      }
    }
    for (; p < block.panels; ++p) {
      for (int g = 0; g < groups; ++g) {
        profile_tile<1>(profile, points + p * dim * width + lane, dim, queries(g), block.scale, tile(g, p));
      }
    }
  }
}

/// totals += tile · values.
template <class T>
void multiply_tile(const Block<T>& block, int first, int groups) {
  constexpr int width = panel_width<T>;
  const PackedKeys<T>& keys = block.keys;
  const ChannelParts parts(keys.channels);
  for (int i = 0; i < parts.count; ++i) {
    const T* values = keys.values + (keys.panels * parts.begin(i) + block.first_panel * parts.width(i)) * width;
    for (int g = 0; g < groups; ++g) {
      double* totals = block.totals + (std::int64_t(first + g) * keys.channels + parts.begin(i)) * group_size;
      value_part(block.tile + g * group_size * tile_stride<T>, values, parts.width(i), block.panels, totals);
    }
  }
}

/// Calls f(profile function) for the profile's name.
template <class T, class F>
void with_profile(Profile profile, const F& f) {
  using D = LanesOf<T>;
  switch (profile) {
    case Profile::gaussian:
      return f(ProfileOf<Profile::gaussian, D>{D()});
    case Profile::laplace:
      return f(ProfileOf<Profile::laplace, D>{D()});
    case Profile::imq:
      return f(ProfileOf<Profile::imq, D>{D()});
    case Profile::riesz:
      return f(ProfileOf<Profile::riesz, D>{D()});
    case Profile::matern32:
      return f(ProfileOf<Profile::matern32, D>{D()});
    case Profile::matern52:
      return f(ProfileOf<Profile::matern52, D>{D()});
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
