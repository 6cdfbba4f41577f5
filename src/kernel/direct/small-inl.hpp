// Sums for D ≤ 4 and C ≤ 4 (other profiles than the Gaussian: C = 1): everything in registers, one pass. Included once per SIMD target.
//
// A key panel is loaded once for a group of queries, each of which does D differences and squares, one exponential and C
// products. Points are packed as they are: coordinates scaled so that the exponent is the squared distance itself would be
// rounded, which a sum of a few pairs at six bandwidths shows (56 eps).
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
#include "kernel/direct/profiles-inl.hpp"

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

/// What a register of keys is to the queries of a group.
template <int Dim, class T>
class Pairs {
 public:
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  explicit Pairs(const T* queries) : queries_(queries) {}

  HWY_INLINE V difference(const T* HWY_RESTRICT point, int i, int r) const {
    return hn::Sub(hn::Load(D(), point + i * panel_width<T>), hn::Set(D(), queries_[i * group_size + r]));
  }
  /// The differences x, and the squared distance.
  HWY_INLINE V distance(const T* HWY_RESTRICT point, int r, V (&x)[Dim]) const {
    x[0] = difference(point, 0, r);
    V t = hn::Mul(x[0], x[0]);
#pragma GCC unroll 4
    for (int i = 1; i < Dim; ++i) {
      x[i] = difference(point, i, r);
      t = hn::MulAdd(x[i], x[i], t);
    }
    return t;
  }

 private:
  const T* HWY_RESTRICT queries_;
};

/// Φ of a squared distance: its product with the scale is not rounded.
template <class T>
class Gaussian {
 public:
  using V = hn::Vec<LanesOf<T>>;
  explicit Gaussian(const Block<T>& block)
      : exp2_neg_{LanesOf<T>()},
        scale_(hn::Set(LanesOf<T>(), block.scale)),
        largest_(hn::Set(LanesOf<T>(), largest_exponent<T> / block.scale)) {}
  HWY_INLINE V operator()(V t) const { return exp2_neg_(hn::Min(largest_, t), scale_); }  // in this order NaN stays

 private:
  Exp2Neg<LanesOf<T>> exp2_neg_;
  V scale_, largest_;
};

/// Any other profile of it.
template <class T, class F>
class Radial {
 public:
  using V = hn::Vec<LanesOf<T>>;
  Radial(const F& profile, const Block<T>& block) : profile_(profile), scale_(hn::Set(LanesOf<T>(), block.scale)) {}
  HWY_INLINE V operator()(V t) const { return profile_(hn::Mul(t, scale_)); }

 private:
  F profile_;
  V scale_;
};

/// Calls f(panel, lane, r, Φ, differences) for each register of keys and for queries [first, first + Rows) of a group. Distances
/// are formed a register ahead: a sum, an exponential and the next distance are then under way together, which the
/// processor does not find by itself behind chains of twelve operations (D = 3, C = 1: 4.7 cycles a register, not 5.9).
template <int Rows, int Dim, class T, class Phi, class F>
HWY_INLINE void for_each_pair(const Block<T>& block, const Pairs<Dim, T>& pairs, const Phi& phi, int first, const F& f) {
  constexpr int width = panel_width<T>, step = lanes<T>;
  const T* point = block.keys.points + block.first_panel * Dim * width;
  using V = hn::Vec<LanesOf<T>>;
  V t[Rows], x[Rows][Dim];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) t[r] = pairs.distance(point, first + r, x[r]);
  for (int p = 0; p < block.panels; ++p) {
    const T* const next_panel = p + 1 < block.panels ? point + Dim * width : point;
#pragma GCC unroll 4
    for (int lane = 0; lane < width; lane += step) {
      const T* const next = lane + step < width ? point + lane + step : next_panel;
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        V x_ahead[Dim];
        const auto ahead = pairs.distance(next, first + r, x_ahead);
        f(p, lane, r, phi(t[r]), x[r]);
        t[r] = ahead;
#pragma GCC unroll 4
        for (int i = 0; i < Dim; ++i) x[r][i] = x_ahead[i];
      }
    }
    point = next_panel;
  }
}

template <Kind K, int Dim, int Channels, class T, class Phi>
HWY_INLINE void small_group(const Block<T>& block, const Phi& phi_of, const T* HWY_RESTRICT queries,
                            double* HWY_RESTRICT totals) {
  using D = LanesOf<T>;
  using V = hn::Vec<D>;
  constexpr int width = panel_width<T>;
  constexpr int inputs = loaded<K, Dim, Channels>, sums = outputs<K, Dim, Channels>;
  constexpr int rows = many_registers && K == Kind::sum ? group_size : 2;  // per pass, as registers allow
  const D d;
  const Pairs<Dim, T> pairs(queries);
  const T* HWY_RESTRICT points = block.keys.points + block.first_panel * Dim * width;
  const T* HWY_RESTRICT values = block.keys.values + block.first_panel * inputs * width;
  V by_output[sums][group_size];
  for (int first = 0; first < group_size; first += rows) {
    V sum[rows][sums];
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < sums; ++c) sum[r][c] = hn::Zero(d);
    }
    for_each_pair<rows>(block, pairs, phi_of, first, [&](int p, int lane, int r, V phi, const V(&x)[Dim]) HWY_ATTR {
      const T* HWY_RESTRICT value = values + std::int64_t(p) * inputs * width + lane;
      if constexpr (K == Kind::sum) {
#pragma GCC unroll 4
        for (int c = 0; c < Channels; ++c) sum[r][c] = hn::MulAdd(phi, hn::Load(d, value + c * width), sum[r][c]);
      } else {
        const T* HWY_RESTRICT point = points + std::int64_t(p) * Dim * width + lane;
        const V last = hn::Load(d, value + (inputs - 1) * width);  // w of the field, b of the Stein direction
        const V weighted = hn::Mul(phi, last);
#pragma GCC unroll 4
        for (int i = 0; i < Dim; ++i) {
          const V difference = many_registers ? x[i] : pairs.difference(point, i, first + r);
          if constexpr (K == Kind::field) {
            sum[r][i] = hn::MulAdd(weighted, difference, sum[r][i]);
          } else {
            const V push = hn::NegMulAdd(last, difference, hn::Load(d, value + i * width));
            sum[r][i] = hn::MulAdd(phi, push, sum[r][i]);
          }
        }
        if constexpr (K == Kind::field) sum[r][Dim] = hn::Add(sum[r][Dim], weighted);
      }
    });
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < sums; ++c) by_output[c][first + r] = sum[r][c];
    }
  }
  for (int c = 0; c < sums; ++c) add_lane_sums(by_output[c], totals + c * group_size);
}

template <Kind K, int Dim, int Channels, class T, class Phi>
void small_groups(const Block<T>& block, const Phi& phi_of) {
  constexpr int sums = outputs<K, Dim, Channels>;
  for (int g = 0; g < block.groups; ++g) {
    const T* queries = block.queries + g * Dim * group_size;
    double* totals = block.totals + g * sums * group_size;
    small_group<K, Dim, Channels>(block, phi_of, queries, totals);
  }
}

template <int Dim, class T>
void small_by_kind(const Block<T>& block, Kind kind, Profile profile) {
  if (profile != Profile::gaussian) {
    return with_profile<T>(profile, [&](const auto& f) { small_groups<Kind::sum, Dim, 1>(block, Radial(f, block)); });
  }
  const Gaussian<T> phi_of(block);
  if (kind == Kind::field) return small_groups<Kind::field, Dim, 1>(block, phi_of);
  if (kind == Kind::stein) return small_groups<Kind::stein, Dim, 1>(block, phi_of);
  switch (block.keys.channels) {
    case 1:
      return small_groups<Kind::sum, Dim, 1>(block, phi_of);
    case 2:
      return small_groups<Kind::sum, Dim, 2>(block, phi_of);
    case 3:
      return small_groups<Kind::sum, Dim, 3>(block, phi_of);
    default:
      return small_groups<Kind::sum, Dim, 4>(block, phi_of);
  }
}

template <class T>
void small_any(const Block<T>& block, Kind kind, Profile profile) {
  switch (block.keys.dim) {
    case 1:
      return small_by_kind<1>(block, kind, profile);
    case 2:
      return small_by_kind<2>(block, kind, profile);
    case 3:
      return small_by_kind<3>(block, kind, profile);
    default:
      return small_by_kind<4>(block, kind, profile);
  }
}

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
