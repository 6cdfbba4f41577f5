// Sums with q = k, C ≤ 4: every pair once. Included once per SIMD target.
//
// Lanes run over keys, so what a pair gives its key is one product in place: it needs no scratch per lane and no transpose.

#if defined(GAUSSFLOW_DIRECT_SYMMETRIC_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_SYMMETRIC_INL
#undef GAUSSFLOW_DIRECT_SYMMETRIC_INL
#else
#define GAUSSFLOW_DIRECT_SYMMETRIC_INL
#endif

#include "kernel/direct/small-inl.hpp"
#include "kernel/direct/tiled-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int Dim, int Channels, class T, class Phi>
HWY_INLINE void symmetric_group(const SymmetricBlock<T>& both, const Phi& phi_of, int group) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  constexpr int rows = many_registers ? group_size : 2;
  const Block<T>& block = both.block;
  const D d;
  const Pairs<Dim, T> pairs(block.queries + group * Dim * group_size);
  const T* HWY_RESTRICT values = block.keys.values + block.first_panel * Channels * width;
  const T* HWY_RESTRICT query_values = both.values + group * Channels * group_size;
  V by_channel[Channels][group_size];
  for (int first = 0; first < group_size; first += rows) {
    V sum[rows][Channels], given[Channels];
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < Channels; ++c) sum[r][c] = hn::Zero(d);
    }
    for_each_pair<rows>(block, pairs, phi_of, first, [&](int p, int lane, int r, V phi, const V(&)[Dim]) HWY_ATTR {
      const T* HWY_RESTRICT value = values + std::int64_t(p) * Channels * width + lane;
      T* HWY_RESTRICT transposed = both.transposed + std::int64_t(p) * Channels * width + lane;
#pragma GCC unroll 4
      for (int c = 0; c < Channels; ++c) {
        if (r == 0) given[c] = hn::Load(d, transposed + c * width);
        sum[r][c] = hn::MulAdd(phi, hn::Load(d, value + c * width), sum[r][c]);
        given[c] = hn::MulAdd(phi, hn::Set(d, query_values[c * group_size + first + r]), given[c]);
        if (r == rows - 1) hn::Store(given[c], d, transposed + c * width);
      }
    });
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < Channels; ++c) by_channel[c][first + r] = sum[r][c];
    }
  }
  double* totals = block.totals + group * Channels * group_size;
  for (int c = 0; c < Channels; ++c) add_lane_sums(by_channel[c], totals + c * group_size);
}

template <int Dim, int Channels, class T, class Phi>
void symmetric_groups(const SymmetricBlock<T>& pairs, const Phi& phi_of) {
  for (int g = 0; g < pairs.block.groups; ++g) {
    symmetric_group<Dim, Channels>(pairs, phi_of, g);
  }
}

template <int Dim, class T>
void symmetric_by_channels(const SymmetricBlock<T>& pairs, Profile profile) {
  if (profile != Profile::gaussian) {
    return with_profile<T>(profile, [&](const auto& f) { symmetric_groups<Dim, 1>(pairs, Radial(f, pairs.block)); });
  }
  const Gaussian<T> phi_of(pairs.block);
  switch (pairs.block.keys.channels) {
    case 1:
      return symmetric_groups<Dim, 1>(pairs, phi_of);
    case 2:
      return symmetric_groups<Dim, 2>(pairs, phi_of);
    case 3:
      return symmetric_groups<Dim, 3>(pairs, phi_of);
    default:
      return symmetric_groups<Dim, 4>(pairs, phi_of);
  }
}

template <class T>
void small_symmetric_any(const SymmetricBlock<T>& pairs, Profile profile) {
  switch (pairs.block.keys.dim) {
    case 1:
      return symmetric_by_channels<1>(pairs, profile);
    case 2:
      return symmetric_by_channels<2>(pairs, profile);
    case 3:
      return symmetric_by_channels<3>(pairs, profile);
    default:
      return symmetric_by_channels<4>(pairs, profile);
  }
}

/// transposed += tileᵀ · values of the queries, Panels panels at a time so that enough sums are under way.
template <int Panels, int Channels, class T>
HWY_INLINE void transposed_product(const T* HWY_RESTRICT tile, const T* HWY_RESTRICT query_values, int groups,
                                   T* HWY_RESTRICT transposed) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  const D d;
  for (int part = 0; part < panel_parts<T>; ++part, tile += lanes<T>, transposed += lanes<T>) {
    V given[Panels][Channels];
    for (int p = 0; p < Panels; ++p) {
      for (int c = 0; c < Channels; ++c) given[p][c] = hn::Load(d, transposed + (p * Channels + c) * width);
    }
    for (int g = 0; g < groups; ++g) {
      for (int r = 0; r < group_size; ++r) {
        const T* row = tile + (g * group_size + r) * tile_stride<T>;
#pragma GCC unroll 4
        for (int p = 0; p < Panels; ++p) {
          const V phi = hn::Load(d, row + p * width);
#pragma GCC unroll 4
          for (int c = 0; c < Channels; ++c) {
            given[p][c] = hn::MulAdd(phi, hn::Set(d, query_values[(g * Channels + c) * group_size + r]), given[p][c]);
          }
        }
      }
    }
    for (int p = 0; p < Panels; ++p) {
      for (int c = 0; c < Channels; ++c) hn::Store(given[p][c], d, transposed + (p * Channels + c) * width);
    }
  }
}

template <int Channels, class T>
void multiply_transposed(const SymmetricBlock<T>& pairs, int first, int groups) {
  constexpr int width = panel_width<T>;
  constexpr int at_once = many_registers ? 4 : 2;
  const T* query_values = pairs.values + first * Channels * group_size;
  int p = 0;
  for (; p + at_once <= pairs.block.panels; p += at_once) {
    transposed_product<at_once, Channels>(pairs.block.tile + p * width, query_values, groups,
                                          pairs.transposed + p * Channels * width);
  }
  for (; p < pairs.block.panels; ++p) {
    transposed_product<1, Channels>(pairs.block.tile + p * width, query_values, groups,
                                    pairs.transposed + p * Channels * width);
  }
}

template <class T>
void tiled_symmetric_any(const SymmetricBlock<T>& pairs, Profile name) {
  const Block<T>& block = pairs.block;
  with_profile<T>(name, [&](const auto& profile) {
    for (int first = 0; first < block.groups; first += tile_groups) {
      const int groups = block.groups - first < tile_groups ? block.groups - first : tile_groups;
      fill_tile(profile, block, first, groups);
      multiply_tile(block, first, groups);
      switch (block.keys.channels) {
        case 1:
          multiply_transposed<1>(pairs, first, groups);
          break;
        case 2:
          multiply_transposed<2>(pairs, first, groups);
          break;
        case 3:
          multiply_transposed<3>(pairs, first, groups);
          break;
        default:
          multiply_transposed<4>(pairs, first, groups);
          break;
      }
    }
  });
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
