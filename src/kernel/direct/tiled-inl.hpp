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

/// Profile of a group of queries against Panels panels (their part of the lanes), into four rows of the tile.
template <int Panels, class F, class T>
HWY_INLINE void profile_tile(const F& profile, const T* HWY_RESTRICT points, std::int64_t dim, const T* HWY_RESTRICT queries,
                             T scale, T* HWY_RESTRICT tile) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  const D d;
  V t[group_size][Panels];
  for (int r = 0; r < group_size; ++r) {
    for (int p = 0; p < Panels; ++p) t[r][p] = hn::Zero(d);
  }
  for (std::int64_t i = 0; i < dim; ++i) {
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
  const V s = hn::Set(d, scale);
#pragma GCC unroll 4
  for (int r = 0; r < group_size; ++r) {
#pragma GCC unroll 4
    for (int p = 0; p < Panels; ++p) {
      hn::Store(profile(hn::Mul(t[r][p], s)), d, tile + r * tile_stride<T> + p * width);
    }
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

/// Sixteen registers hold the sums of three channels at once, thirty-two those of six.
template <class T>
void value_part(const T* tile, const T* values, int width, int panels, double* totals) {
  constexpr int most = many_registers ? channel_panel : 2;
  for (int c = 0; c < width; c += most) {
    const T* from = values + c * panel_width<T>;
    double* to = totals + c * group_size;
    switch (width - c < most ? width - c : most) {
      case 1:
        value_product<1>(tile, from, width, panels, to);
        break;
      case 2:
        value_product<2>(tile, from, width, panels, to);
        break;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || HWY_ARCH_ARM_A64
      case 3:
        value_product<3>(tile, from, width, panels, to);
        break;
      case 4:
        value_product<4>(tile, from, width, panels, to);
        break;
      case 5:
        value_product<5>(tile, from, width, panels, to);
        break;
      default:
        value_product<6>(tile, from, width, panels, to);
        break;
#endif
    }
  }
}

template <Profile P, class T>
void tiled_profile(const Block<T>& block) {
  constexpr int width = panel_width<T>;
  constexpr int at_once = many_registers ? 4 : 1;  // panels
  const PackedKeys<T>& keys = block.keys;
  const T* const points = keys.points + block.first_panel * keys.dim * width;
  const ChannelParts parts(keys.channels);
  const ProfileOf<P, LanesOf<T>> profile{LanesOf<T>()};

  for (int first = 0; first < block.groups; first += tile_groups) {
    const int groups = block.groups - first < tile_groups ? block.groups - first : tile_groups;
    const auto tile = [&](int g) { return block.tile + g * group_size * tile_stride<T>; };
    const auto queries = [&](int g) { return block.queries + std::int64_t(first + g) * keys.dim * group_size; };
    // A panel's coordinates are read for all groups while they are near; so are a channel part's values below.
    for (int part = 0; part < panel_parts<T>; ++part) {
      const int lane = part * lanes<T>;
      int p = 0;
      for (; p + at_once <= block.panels; p += at_once) {
        const T* from = points + std::int64_t(p) * keys.dim * width + lane;
        for (int g = 0; g < groups; ++g) {
          profile_tile<at_once>(profile, from, keys.dim, queries(g), block.scale, tile(g) + p * width + lane);
        }
      }
      for (; p < block.panels; ++p) {
        const T* from = points + std::int64_t(p) * keys.dim * width + lane;
        for (int g = 0; g < groups; ++g) {
          profile_tile<1>(profile, from, keys.dim, queries(g), block.scale, tile(g) + p * width + lane);
        }
      }
    }
    for (int i = 0; i < parts.count; ++i) {
      const T* values = keys.values + (keys.panels * parts.begin(i) + block.first_panel * parts.width(i)) * width;
      for (int g = 0; g < groups; ++g) {
        double* totals = block.totals + (std::int64_t(first + g) * keys.channels + parts.begin(i)) * group_size;
        value_part(tile(g), values, parts.width(i), block.panels, totals);
      }
    }
  }
}

template <class T>
void tiled_sum(const Block<T>& block, Profile profile) {
  switch (profile) {
    case Profile::gaussian:
      return tiled_profile<Profile::gaussian>(block);
    case Profile::laplace:
      return tiled_profile<Profile::laplace>(block);
    case Profile::imq:
      return tiled_profile<Profile::imq>(block);
    case Profile::riesz:
      return tiled_profile<Profile::riesz>(block);
    case Profile::matern32:
      return tiled_profile<Profile::matern32>(block);
    case Profile::matern52:
      return tiled_profile<Profile::matern52>(block);
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
