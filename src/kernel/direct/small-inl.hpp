// The sum for D ≤ 4 and C ≤ 4: everything in registers, one pass. Included once per SIMD target.
//
// A key panel is loaded once for a group of queries, each of which does D differences and squares, one exponential and C
// products. Points are packed centred and scaled by √(τ/2 log₂e), so that the exponent is the squared distance itself; where
// the cloud is so wide that this rounding would show, the tiled kernel takes over (pack.hpp).

#if defined(GAUSSFLOW_DIRECT_SMALL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_SMALL_INL
#undef GAUSSFLOW_DIRECT_SMALL_INL
#else
#define GAUSSFLOW_DIRECT_SMALL_INL
#endif

#include "kernel/direct/exp2-inl.hpp"
#include "kernel/direct/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int Dim, int Channels, class T>
HWY_INLINE void small_group(const Block<T>& block, const T* HWY_RESTRICT queries, double* HWY_RESTRICT totals) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  constexpr int rows =
      many_registers ? group_size : 2;  // per pass: rows × channels sums, the rest of the registers is scratch
  const D d;
  const Exp2Neg<D> exp2_neg(d);
  const T* const points = block.keys.points + block.first_panel * Dim * width;
  const T* const values = block.keys.values + block.first_panel * Channels * width;

  for (int part = 0; part < panel_parts<T>; ++part) {
    V sums[Channels][group_size];
    for (int first = 0; first < group_size; first += rows) {
      V sum[rows][Channels];
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < Channels; ++c) sum[r][c] = hn::Zero(d);
      }
      const T* HWY_RESTRICT point = points + part * lanes<T>;
      const T* HWY_RESTRICT value = values + part * lanes<T>;
      for (int p = 0; p < block.panels; ++p, point += Dim * width, value += Channels * width) {
        V k[Dim];
        for (int i = 0; i < Dim; ++i) k[i] = hn::Load(d, point + i * width);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
          const V first_difference = hn::Sub(k[0], hn::Set(d, queries[first + r]));
          V t = hn::Mul(first_difference, first_difference);
#pragma GCC unroll 4
          for (int i = 1; i < Dim; ++i) {
            const V difference = hn::Sub(k[i], hn::Set(d, queries[i * group_size + first + r]));
            t = hn::MulAdd(difference, difference, t);
          }
          const V phi = exp2_neg(t);
#pragma GCC unroll 4
          for (int c = 0; c < Channels; ++c) sum[r][c] = hn::MulAdd(phi, hn::Load(d, value + c * width), sum[r][c]);
        }
      }
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < Channels; ++c) sums[c][first + r] = sum[r][c];
      }
    }
    for (int c = 0; c < Channels; ++c) add_lane_sums(sums[c], totals + c * group_size);
  }
}

template <int Dim, int Channels, class T>
void small_groups(const Block<T>& block) {
  for (int g = 0; g < block.groups; ++g) {
    small_group<Dim, Channels>(block, block.queries + g * Dim * group_size, block.totals + g * Channels * group_size);
  }
}

template <int Dim, class T>
void small_by_channels(const Block<T>& block) {
  switch (block.keys.channels) {
    case 1:
      return small_groups<Dim, 1>(block);
    case 2:
      return small_groups<Dim, 2>(block);
    case 3:
      return small_groups<Dim, 3>(block);
    default:
      return small_groups<Dim, 4>(block);
  }
}

template <class T>
void small_sum(const Block<T>& block) {
  switch (block.keys.dim) {
    case 1:
      return small_by_channels<1>(block);
    case 2:
      return small_by_channels<2>(block);
    case 3:
      return small_by_channels<3>(block);
    default:
      return small_by_channels<4>(block);
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
