// Sums for D ≤ 4 and C ≤ 4: everything in registers, one pass. Included once per SIMD target.
//
// A key panel is loaded once for a group of queries, each of which does D differences and squares, one exponential and C
// products. Points are either packed centred and scaled by √(τ/2 log₂e), so that the exponent is the squared distance
// itself (Scaled), or, where the cloud is so wide that this rounding would show, as they are (5–13 % slower).
//
// The field and the Stein direction use the differences k − q that are there anyway: no cancellation between Σ Φ w k and q Σ
// Φ w, and D fewer values to load.

#if defined(GAUSSFLOW_DIRECT_SMALL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_SMALL_INL
#undef GAUSSFLOW_DIRECT_SMALL_INL
#else
#define GAUSSFLOW_DIRECT_SMALL_INL
#endif

#include "kernel/direct/direct.hpp"
#include "kernel/direct/exp2-inl.hpp"
#include "kernel/direct/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Values that are loaded for each key, and sums that are kept for each query.
template <Kind K, int Dim, int Channels>
inline constexpr int loaded = K == Kind::sum     ? Channels
                              : K == Kind::field ? 1
                                                 : Dim + 1;
template <Kind K, int Dim, int Channels>
inline constexpr int outputs = K == Kind::sum     ? Channels
                               : K == Kind::field ? Dim + 1
                                                  : Dim;

template <Kind K, int Dim, int Channels, bool Scaled, class T>
HWY_INLINE void small_group(const Block<T>& block, const T* HWY_RESTRICT queries, double* HWY_RESTRICT totals) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  constexpr int inputs = loaded<K, Dim, Channels>, sums = outputs<K, Dim, Channels>;
  constexpr int rows = many_registers ? group_size : 2;  // per pass: rows × sums in registers, the others are scratch
  const D d;
  const Exp2Neg<D> exp2_neg(d);
  const V scale = hn::Set(d, block.scale), nothing_left = hn::Set(d, largest_exponent<T>);
  const T* const points = block.keys.points + block.first_panel * Dim * width;
  const T* const values = block.keys.values + block.first_panel * inputs * width;

  for (int part = 0; part < panel_parts<T>; ++part) {
    V by_output[sums][group_size];
    for (int first = 0; first < group_size; first += rows) {
      V sum[rows][sums];
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < sums; ++c) sum[r][c] = hn::Zero(d);
      }
      const T* HWY_RESTRICT point = points + part * lanes<T>;
      const T* HWY_RESTRICT value = values + part * lanes<T>;
      for (int p = 0; p < block.panels; ++p, point += Dim * width, value += inputs * width) {
        V k[Dim];
        for (int i = 0; i < Dim; ++i) k[i] = hn::Load(d, point + i * width);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
          V difference[Dim];
#pragma GCC unroll 4
          for (int i = 0; i < Dim; ++i) difference[i] = hn::Sub(k[i], hn::Set(d, queries[i * group_size + first + r]));
          V t = hn::Mul(difference[0], difference[0]);
#pragma GCC unroll 4
          for (int i = 1; i < Dim; ++i) t = hn::MulAdd(difference[i], difference[i], t);
          if constexpr (!Scaled) t = hn::Min(nothing_left, hn::Mul(t, scale));
          const V phi = exp2_neg(t);
          if constexpr (K == Kind::sum) {
#pragma GCC unroll 4
            for (int c = 0; c < Channels; ++c) sum[r][c] = hn::MulAdd(phi, hn::Load(d, value + c * width), sum[r][c]);
          } else if constexpr (K == Kind::field) {
            const V weighted = hn::Mul(phi, hn::Load(d, value));
#pragma GCC unroll 4
            for (int i = 0; i < Dim; ++i) sum[r][i] = hn::MulAdd(weighted, difference[i], sum[r][i]);
            sum[r][Dim] = hn::Add(sum[r][Dim], weighted);
          } else {
            const V b = hn::Load(d, value + Dim * width);
#pragma GCC unroll 4
            for (int i = 0; i < Dim; ++i) {
              const V push = hn::NegMulAdd(b, difference[i], hn::Load(d, value + i * width));
              sum[r][i] = hn::MulAdd(phi, push, sum[r][i]);
            }
          }
        }
      }
      for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < sums; ++c) by_output[c][first + r] = sum[r][c];
      }
    }
    for (int c = 0; c < sums; ++c) add_lane_sums(by_output[c], totals + c * group_size);
  }
}

template <Kind K, int Dim, int Channels, class T>
void small_groups(const Block<T>& block) {
  constexpr int sums = outputs<K, Dim, Channels>;
  for (int g = 0; g < block.groups; ++g) {
    const T* queries = block.queries + g * Dim * group_size;
    double* totals = block.totals + g * sums * group_size;
    if (block.scaled) {
      small_group<K, Dim, Channels, true>(block, queries, totals);
    } else {
      small_group<K, Dim, Channels, false>(block, queries, totals);
    }
  }
}

template <int Dim, class T>
void small_by_kind(const Block<T>& block, Kind kind) {
  if (kind == Kind::field) return small_groups<Kind::field, Dim, 1>(block);
  if (kind == Kind::stein) return small_groups<Kind::stein, Dim, 1>(block);
  switch (block.keys.channels) {
    case 1:
      return small_groups<Kind::sum, Dim, 1>(block);
    case 2:
      return small_groups<Kind::sum, Dim, 2>(block);
    case 3:
      return small_groups<Kind::sum, Dim, 3>(block);
    default:
      return small_groups<Kind::sum, Dim, 4>(block);
  }
}

template <class T>
void small_any(const Block<T>& block, Kind kind) {
  switch (block.keys.dim) {
    case 1:
      return small_by_kind<1>(block, kind);
    case 2:
      return small_by_kind<2>(block, kind);
    case 3:
      return small_by_kind<3>(block, kind);
    default:
      return small_by_kind<4>(block, kind);
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
