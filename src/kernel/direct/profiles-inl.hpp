// Radial profiles as functions of the scaled squared distance. Included once per SIMD target.
//
// The argument is u = squared distance of packed points × profile_scale (pack.hpp), chosen so that each profile needs the
// fewest operations. Square roots and quotients are the machine's exact ones: they run on the divider beside the rest
// and need no care at 0 and infinity.

#if defined(GAUSSFLOW_DIRECT_PROFILES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_PROFILES_INL
#undef GAUSSFLOW_DIRECT_PROFILES_INL
#else
#define GAUSSFLOW_DIRECT_PROFILES_INL
#endif

#include "gaussflow/kernel/profile.hpp"

#include "kernel/direct/exp2-inl.hpp"
#include "kernel/direct/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 2^-t for any t ≥ 0.
template <class D>
struct BoundedExp2Neg {
  using V = hn::Vec<D>;
  explicit BoundedExp2Neg(D d) : exp2_neg(d) {}
  // The order of the operands keeps NaN: x86 returns the second where either is one.
  HWY_INLINE V operator()(V t) const { return exp2_neg(hn::Min(hn::Set(D(), largest_exponent<hn::TFromD<D>>), t)); }
  Exp2Neg<D> exp2_neg;
};

template <Profile P, class D>
struct ProfileOf {
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;
  explicit ProfileOf(D d) : exp2_neg(d) {}

  HWY_INLINE V operator()(V u) const {
    const D d;
    const V one = hn::Set(d, T(1));
    const V log2e = hn::Set(d, T(1.4426950408889634074));
    if constexpr (P == Profile::gaussian) {  // u = log₂e ρ²/2
      return exp2_neg(u);
    } else if constexpr (P == Profile::laplace) {  // u = (log₂e ρ)²
      return exp2_neg(hn::Sqrt(u));
    } else if constexpr (P == Profile::imq) {  // u = ρ²
      return hn::Div(one, hn::Sqrt(hn::Add(one, u)));
    } else if constexpr (P == Profile::riesz) {  // u = ‖q − k‖²
      return hn::Neg(hn::Sqrt(u));
    } else if constexpr (P == Profile::matern32) {  // u = 3 ρ²
      const V a = hn::Sqrt(u);
      return hn::Mul(hn::Add(one, a), exp2_neg(hn::Mul(a, log2e)));
    } else {  // matern52: u = 5 ρ²
      const V a = hn::Sqrt(u);
      return hn::Mul(hn::MulAdd(u, hn::Set(d, T(1.0 / 3)), hn::Add(one, a)), exp2_neg(hn::Mul(a, log2e)));
    }
  }
  BoundedExp2Neg<D> exp2_neg;
};

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

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
