// 2^-t for t ≥ 0, the only transcendental function of the kernel. Included once per SIMD target.
//
// t = m/K + h with m an integer and |h| ≤ 1/(2K), by adding and subtracting a number so large that its last bit is 1/K. The roots
// 2^(j/K) come from a table in registers, by a permutation whose indices are the low bits of that same sum; 2^-h is a polynomial.
//
//   AVX-512  K = 32 (fp32) or 16 (fp64), a two-source permutation: degree 2 (error 5.3e-8) or 6 (7.0e-18) where K = 1 needs 5 or
//            11, and the whole sum is 20 % faster at D = 3. The exponent goes in by vscalef, which is right for any exponent and
//            gives 0 where 2^-t is below the range, without a compare.
//   AVX2     fp32: K = 8, degree 3 (2.5e-8).
//   others   K = 1, degree 5 (9.1e-8) or 11 (3.4e-18).
// Without vscalef the exponent is added as an integer, which reaches down to t = 127 (1023): no larger t may come in.
//
// The coefficients are minimax in relative error with constant term 1, so 2^0 is exactly 1. NaN stays NaN.

#if defined(GAUSSFLOW_DIRECT_EXP2_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef GAUSSFLOW_DIRECT_EXP2_INL
#undef GAUSSFLOW_DIRECT_EXP2_INL
#else
#define GAUSSFLOW_DIRECT_EXP2_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gaussflow::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#undef GAUSSFLOW_AVX512
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define GAUSSFLOW_AVX512 1
#else
#define GAUSSFLOW_AVX512 0
#endif

/// 2^-t is 0 from here on in T: where t may be larger, the caller clamps to it.
template <class T>
inline constexpr T largest_exponent = GAUSSFLOW_AVX512 ? (sizeof(T) == 4 ? 200 : 1100)
                                                       : (sizeof(T) == 4 ? T(126.5) : T(1022.5));

#if GAUSSFLOW_AVX512

alignas(64) inline constexpr float exp2_table_f32[32] = {
    1.000000000f, 1.021897149f, 1.044273782f, 1.067140401f, 1.090507733f, 1.114386743f, 1.138788635f, 1.163724859f,
    1.189207115f, 1.215247360f, 1.241857812f, 1.269050957f, 1.296839555f, 1.325236643f, 1.354255547f, 1.383909882f,
    1.414213562f, 1.445180807f, 1.476826146f, 1.509164428f, 1.542210825f, 1.575980845f, 1.610490332f, 1.645755478f,
    1.681792831f, 1.718619298f, 1.756252160f, 1.794709075f, 1.834008086f, 1.874167634f, 1.915206561f, 1.957144124f,
};
alignas(64) inline constexpr double exp2_table_f64[16] = {
    1.0000000000000000000, 1.0442737824274138403, 1.0905077326652576592, 1.1387886347566916537,
    1.1892071150027210667, 1.2418578120734840486, 1.2968395546510096659, 1.3542555469368927283,
    1.4142135623730950488, 1.4768261459394993114, 1.5422108254079408236, 1.6104903319492543082,
    1.6817928305074290861, 1.7562521603732994831, 1.8340080864093424635, 1.9152065613971472939,
};

template <class D>
struct Exp2Parts;

template <class D>
requires(sizeof(hn::TFromD<D>) == 4) struct Exp2Parts<D> {
  using V = hn::Vec<D>;
  static constexpr float magic = 393216.0f;  // 1.5 · 2^18: last bit 1/32
  explicit Exp2Parts(D d) : low(hn::Load(d, exp2_table_f32)), high(hn::Load(d, exp2_table_f32 + 16)) {}

  HWY_INLINE V join(V y, V n, V h) const {
    const D d;
    const V root = V{_mm512_permutex2var_ps(low.raw, _mm512_castps_si512(y.raw), high.raw)};
    V p = hn::MulAdd(h, hn::Set(d, 0.24022649737573126f), hn::Set(d, -0.69315732977313198f));
    p = hn::MulAdd(p, h, hn::Set(d, 1.0f));
    return V{_mm512_scalef_ps(hn::Mul(root, p).raw, n.raw)};
  }
  V low, high;
};

template <class D>
requires(sizeof(hn::TFromD<D>) == 8) struct Exp2Parts<D> {
  using V = hn::Vec<D>;
  static constexpr double magic = 422212465065984.0;  // 1.5 · 2^48: last bit 1/16
  explicit Exp2Parts(D d) : low(hn::Load(d, exp2_table_f64)), high(hn::Load(d, exp2_table_f64 + 8)) {}

  HWY_INLINE V join(V y, V n, V h) const {
    const D d;
    const V root = V{_mm512_permutex2var_pd(low.raw, _mm512_castpd_si512(y.raw), high.raw)};
    V p = hn::MulAdd(h, hn::Set(d, 0.00015403348281360884665), hn::Set(d, -0.0013333818526483619751));
    p = hn::MulAdd(p, h, hn::Set(d, 0.0096181291121920692372));
    p = hn::MulAdd(p, h, hn::Set(d, -0.055504108652133563097));
    p = hn::MulAdd(p, h, hn::Set(d, 0.24022650695909906875));
    p = hn::MulAdd(p, h, hn::Set(d, -0.69314718055994685065));
    p = hn::MulAdd(p, h, hn::Set(d, 1.0));
    return V{_mm512_scalef_pd(hn::Mul(root, p).raw, n.raw)};
  }
  V low, high;
};

#else

template <class D>
struct Exp2Parts {
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;
  static constexpr bool f32 = sizeof(T) == 4;
  static constexpr T magic = f32 ? T(12582912.0) : T(6755399441055744.0);  // 1.5 · 2^23, 1.5 · 2^52
  explicit Exp2Parts(D) {}

  HWY_INLINE V join(V y, V, V h) const {
    const D d;
    V p;
    if constexpr (f32) {
      p = hn::MulAdd(h, hn::Set(d, T(-0.001326472714007201332)), hn::Set(d, T(0.0096715126399564551514)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.055507337434700852738)));
      p = hn::MulAdd(p, h, hn::Set(d, T(0.2402224208537670947)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.69314697759899203815)));
    } else {
      p = hn::MulAdd(h, hn::Set(d, T(-4.4347712982003767083e-10)), hn::Set(d, T(7.0737832485031332991e-9)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-1.0178199571842137974e-7)));
      p = hn::MulAdd(p, h, hn::Set(d, T(1.3215435282308487999e-6)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.000015252733493127489347)));
      p = hn::MulAdd(p, h, hn::Set(d, T(0.0001540353045711209086)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.0013333558146774620517)));
      p = hn::MulAdd(p, h, hn::Set(d, T(0.0096181291075941200896)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.055504108664820083227)));
      p = hn::MulAdd(p, h, hn::Set(d, T(0.2402265069591013126)));
      p = hn::MulAdd(p, h, hn::Set(d, T(-0.69314718055994532581)));
    }
    p = hn::MulAdd(p, h, hn::Set(d, T(1)));
    // The low bits of y are -m: they move into the exponent field, the bits of 1.5 · 2^23 fall off the end.
    const hn::RebindToSigned<D> di;
    const auto exponent = hn::ShiftLeft < f32 ? 23 : 52 > (hn::BitCast(di, y));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), exponent));
  }
};

#if HWY_TARGET == HWY_AVX2

/// Bits of 2^(j/8) less the bits that j leaves in the mantissa when the exponent is shifted in.
alignas(32) inline constexpr std::int32_t exp2_table_eight[8] = {0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7,
                                                                 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};

template <class D>
requires(sizeof(hn::TFromD<D>) == 4) struct Exp2Parts<D> {
  using V = hn::Vec<D>;
  using I = hn::RebindToSigned<D>;
  static constexpr float magic = 1572864.0F;  // 1.5 · 2^20: last bit 1/8
  explicit Exp2Parts(D) : table(hn::Load(I(), exp2_table_eight)) {}

  HWY_INLINE V join(V y, V, V h) const {
    const D d;
    V p = hn::MulAdd(h, hn::Set(d, -0.055496221830451643F), hn::Set(d, 0.240257629784441592F));
    p = hn::MulAdd(p, h, hn::Set(d, -0.69314721426012836F));
    p = hn::MulAdd(p, h, hn::Set(d, 1.0F));
    const auto bits = hn::BitCast(I(), y);
    const auto root = decltype(bits){_mm256_permutevar8x32_epi32(table.raw, bits.raw)};
    const V power = hn::BitCast(d, hn::Add(root, hn::ShiftLeft<20>(bits)));
    return hn::Mul(power, p);
  }
  hn::Vec<I> table;
};

#endif

#endif

template <class D>
struct Exp2Neg : Exp2Parts<D> {
  using V = hn::Vec<D>;
  using Exp2Parts<D>::Exp2Parts;

  HWY_INLINE V operator()(V t) const {
    return corrected(t, [](V h) { return h; });
  }
  /// The fraction passes through `correct`, which may add what t lacks.
  template <class F>
  HWY_INLINE V corrected(V t, const F& correct) const {
    const V magic = hn::Set(D(), Exp2Parts<D>::magic);
    const V y = hn::Sub(magic, t);
    const V n = hn::Sub(y, magic);
    return this->join(y, n, correct(hn::Add(t, n)));
  }
  /// 2^-(t scale); the product is not rounded.
  HWY_INLINE V operator()(V t, V scale) const {
    const V magic = hn::Set(D(), Exp2Parts<D>::magic);
    const V y = hn::NegMulAdd(t, scale, magic);
    const V n = hn::Sub(y, magic);
    return this->join(y, n, hn::MulAdd(t, scale, n));
  }
};

}  // namespace gaussflow::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
