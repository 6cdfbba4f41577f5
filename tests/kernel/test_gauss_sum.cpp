#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace gaussflow;

namespace {

const std::vector<Reduction> reductions{Reduction::automatic, Reduction::direct,   Reduction::reference,
                                        Reduction::reweight,  Reduction::prescale, Reduction::logit};

Tensor column(const std::vector<double>& values) { return tensor_from(values, static_cast<std::int64_t>(values.size()), 1); }
Tensor ones(std::int64_t n) { return at::ones({n, 1}, at::kDouble); }
Tensor cloud(std::int64_t n, std::int64_t D, std::uint64_t step) { return normal({31, Stream::data, step}, n, D); }

void check_close(const Tensor& value, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> numbers = to_vector(value);
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == doctest::Approx(expected[i]).epsilon(tolerance));
}

/// Runs `check` on the sum in each dtype that the reduction takes here; automatic must take all of them.
template <class Check>
void in_every_dtype(const Tensor& q, const Tensor& k, const Tensor& v, double tau, const Check& check) {
  for (const Reduction reduction : reductions)
    for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
      const std::string what = name_of(reduction) + " in " + dtype_name(dtype);
      CAPTURE(what);
      const GaussSumOptions options{.tau = tau, .reduction = reduction, .compute_dtype = dtype};
      try {
        check(gauss_sum(q, k, v, options), reduction, dtype);
      } catch (const UnsupportedError& error) {
        const bool named = reduction != Reduction::automatic && reduction != Reduction::reference;
        CHECK_MESSAGE(named, error.what());
      }
    }
}

/// The contract against the double loop, in each dtype.
void check_contract(const Tensor& q, const Tensor& k, const Tensor& v, double tau) {
  const auto exact = oracle::gauss_sum<long double>(q, k, v, tau);
  const double range = contract::range(q, k, tau);
  in_every_dtype(q, k, v, tau, [&](const Tensor& s, Reduction reduction, at::ScalarType dtype) {
    CHECK(contract::excess(s, exact, v, dtype, contract::bound(reduction, dtype, range)) <= 1);
  });
}

}  // namespace

TEST_CASE("two queries and three keys give the sums and gradients worked out by hand") {
  const Tensor q = column({0, 1}), k = column({0, 1, 2}), v = column({1, -2, 3});
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    check_close(gauss_sum(q, k, v, {.reduction = reduction}), {0.192944530285, 0.426122638851}, 1e-11);
    const ValueAndGradient f = gauss_sum_with_gradient(q, k, v.squeeze(1), {.reduction = reduction});
    check_close(f.value, {0.192944530285, 0.426122638851}, 1e-11);
    check_close(f.gradient, {-0.401049620006, 1.21306131943}, 1e-11);
  }
}

TEST_CASE("a plane problem with two channels gives the sums, gradients and densities worked out by hand") {
  const Tensor q = tensor_from({0, 0, 1, 0, 0, 2}, 3, 2), k = tensor_from({0, 0, 1, 1, 2, 0, -1, 1}, 4, 2);
  const Tensor v = tensor_from({1, 2, -1, 0, 2, 1, .5, -3}, 4, 2);
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .5, .reduction = reduction};
    check_close(gauss_sum(q, k, v, options),
                {1.43249355249, 0.548287462034, 1.70085396457, 1.47688795863, 0.335284677788, -0.948497813558}, 1e-11);
    check_close(gauss_sum_gradient(q, k, v, options).select(1, 0),
                {0.280860887558, -0.151632664928, 0.246147993106, -0.317774192321, -0.184227428311, -0.486917342717}, 1e-10);
    check_close(gauss_sum(q, k, ones(4), options).log(), {0.94815396836, 0.964283300363, 0.540156852833}, 1e-11);
  }
}

TEST_CASE("ker-01, ker-02, ker-03: offset data, far clusters and outliers give the sums of each cluster") {
  const Tensor five = column({0, .25, .5, .75, 1});
  const std::vector<double> sums{4.213100399, 4.575802974, 4.703460274, 4.575802974, 4.213100399};
  std::vector<double> twice = sums, and_one = sums;
  twice.insert(twice.end(), sums.begin(), sums.end());
  and_one.push_back(1);
  const Tensor offset = five + 1e6, clusters = at::cat({five - 30, five + 30}, 0),
               outlier = at::cat({five, column({1e6})}, 0);
  for (const auto& [x, expected] : {std::pair{offset, sums}, {clusters, twice}, {outlier, and_one}}) {
    check_close(gauss_sum(x, x, ones(x.size(0)), {}), expected, 1e-9);
    check_close(gauss_sum(x, x, ones(x.size(0)), {.compute_dtype = at::kFloat}), expected, 4e-6);
    check_contract(x, x, ones(x.size(0)), 1);
  }
}

TEST_CASE("ker-04: coordinates beyond the squares of half types") {
  const Tensor angle = at::arange(8, at::kDouble) * (3.14159265358979323846 / 4);
  const Tensor x = 400 * at::stack({angle.cos(), angle.sin()}, 1);
  check_close(gauss_sum(x, x, ones(8), {.tau = 1e-5}), std::vector<double>(8, 2.826534411), 1e-9);
  check_contract(x, x, ones(8), 1e-5);
}

TEST_CASE("ker-05: values beyond the half types") {
  const Tensor x = cloud(40, 2, 0);
  check_contract(x, x, 1e5 * at::sign(cloud(40, 1, 1)), 1);
  check_contract(x, x, 1e30 * cloud(40, 3, 2), 1);
  check_contract(x, x, 1e-30 * cloud(40, 3, 2), 1);
}

TEST_CASE("ker-06: a sharp kernel") { check_contract(cloud(64, 2, 0), cloud(64, 2, 0), cloud(64, 1, 1).abs(), 100); }

TEST_CASE("ker-07: a kernel that is nearly 1 and weights that sum to 0") {
  check_contract(cloud(50, 3, 0), cloud(50, 3, 0), at::cat({ones(25), -ones(25)}, 0), 1e-8);
}

TEST_CASE("ker-08: a sum over the largest number of fp16") {
  const Tensor q = column({0, 1}), k = at::zeros({70000, 1}, at::kDouble);
  for (const Reduction reduction : reductions)
    for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
      const std::string what = name_of(reduction) + " in " + dtype_name(dtype);
      CAPTURE(what);
      if (reduction == Reduction::direct && contract::eps(dtype) > 1e-6) continue;
      const double tolerance = dtype == at::kDouble ? 1e-9 : 12 * contract::eps(dtype);
      const GaussSumOptions options{.reduction = reduction, .compute_dtype = dtype};
      if (reduction == Reduction::prescale && dtype == at::kDouble)  // equal keys: each block rounds alike, 282 eps in all
        CHECK_THROWS_AS(gauss_sum(q, k, ones(70000), options), UnsupportedError);
      else
        check_close(gauss_sum(q, k, ones(70000), options), {70000, 42457.1462}, tolerance);
    }
  const Tensor half = gauss_sum(q.to(at::kHalf), k.to(at::kHalf), ones(70000).to(at::kHalf), {});
  CHECK((half.scalar_type() == at::kFloat));
  check_close(half, {70000, 42457.1462}, 1e-6);
}

TEST_CASE("ker-09, ker-09b: one pair, and rows that underflow are 0 and not NaN") {
  const Tensor q = column({0, 3}), k = column({0}), v = column({2.5});
  check_close(gauss_sum(q, k, v, {}), {2.5, 0.0277724913}, 1e-8);
  check_contract(q, k, v, 1);
  const Tensor far = column({50, -1e4, 0.5}), keys = column({0, .5, 1}), values = column({1, 2, 3});
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    const std::vector<double> s = to_vector(gauss_sum(far, keys, values, {.compute_dtype = dtype}));
    CHECK(s[0] < 1e-300);
    CHECK(s[1] == 0);
    CHECK(s[2] == doctest::Approx(5.52998761).epsilon(1e-6));
  }
  check_contract(far, keys, values, 1);
}

TEST_CASE("ker-10, ker-10b: empty operands give exact zeros of the right shape") {
  for (const Reduction reduction : reductions)
    for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf}) {
      CAPTURE(name_of(reduction));
      const auto sum = [&](std::int64_t M, std::int64_t N, std::int64_t C) {
        const at::TensorOptions options(dtype);
        return gauss_sum(at::ones({M, 2}, options), at::ones({N, 2}, options), at::ones({N, C}, options),
                         {.reduction = reduction});
      };
      CHECK((sum(0, 4, 2).sizes() == std::vector<std::int64_t>{0, 2}));
      CHECK((sum(0, 0, 2).sizes() == std::vector<std::int64_t>{0, 2}));
      CHECK((sum(3, 4, 0).sizes() == std::vector<std::int64_t>{3, 0}));
      const Tensor zeros = sum(4, 0, 2);
      CHECK((zeros.sizes() == std::vector<std::int64_t>{4, 2}));
      CHECK(at::equal(zeros, at::zeros_like(zeros)));
      const at::TensorOptions options(dtype);
      CHECK(
          gauss_sum(at::ones({0, 3, 2}, options), at::ones({0, 4, 2}, options), at::ones({0, 4, 5}, options), {}).numel() ==
          0);
    }
  const ValueAndGradient f = gauss_sum_with_gradient(at::ones({3, 2}), at::ones({0, 2}), at::ones({0}), {});
  CHECK(at::equal(f.value, at::zeros({3})));
  CHECK(at::equal(f.gradient, at::zeros({3, 2})));
}

TEST_CASE("ker-11: dimensions and channels over 256") {
  const Tensor q = cloud(20, 300, 0) / 17, k = cloud(30, 300, 1) / 17;
  check_contract(q, k, cloud(30, 2, 2), 1);
  check_contract(q, k, cloud(30, 300, 2), 1);
  check_contract(q.narrow(1, 0, 2), k.narrow(1, 0, 2), cloud(30, 300, 2), 1);
}

TEST_CASE("ker-12: padding leaves the scale at tau") {
  for (const auto& [D, C] : {std::pair{2, 7}, {8, 1}, {1, 1}, {6, 8}, {31, 32}, {62, 1}, {7, 16}})
    check_contract(cloud(30, D, 0) / std::sqrt(D), cloud(40, D, 1) / std::sqrt(D), cloud(40, C, 2), 1.7);
}

TEST_CASE("ker-13: a batch is the loop over its clouds, each around its own mean") {
  const Tensor means = tensor_from({0, 1, -3, 1e3, 50, -7}, 6, 1).view({6, 1, 1});
  const Tensor q = cloud(6 * 9, 3, 0).view({6, 9, 3}) + means, k = cloud(6 * 20, 3, 1).view({6, 20, 3}) + means;
  const Tensor v = cloud(6 * 20, 2, 2).view({6, 20, 2});
  for (const std::int64_t B : {1, 2, 6})
    for (const Reduction reduction : reductions) {
      CAPTURE(name_of(reduction));
      const GaussSumOptions options{.tau = .3, .reduction = reduction};
      const Tensor s = gauss_sum(q.narrow(0, 0, B), k.narrow(0, 0, B), v.narrow(0, 0, B), options);
      for (std::int64_t b = 0; b < B; ++b) CHECK(at::allclose(s[b], gauss_sum(q[b], k[b], v[b], options), 1e-12, 1e-13));
    }
}

TEST_CASE("ker-14: strided views give what their copies give") {
  const Tensor q_T = cloud(3, 50, 0), k_T = cloud(3, 60, 1), v_T = cloud(2, 60, 2), q = q_T.t(), k = k_T.t(), v = v_T.t();
  const Tensor every = cloud(120, 3, 3).slice(0, 0, 120, 2);
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .3, .reduction = reduction};
    CHECK(at::equal(gauss_sum(q, k, v, options), gauss_sum(q.contiguous(), k.contiguous(), v.contiguous(), options)));
    CHECK(at::equal(gauss_sum(every, k, v, options), gauss_sum(every.contiguous(), k, v, options)));
    const Tensor same = cloud(1, 3, 4).expand({50, 3});
    CHECK(at::equal(gauss_sum(same, k, v, options), gauss_sum(same.contiguous(), k, v, options)));
  }
}

TEST_CASE("ker-15: an entry that is not finite is named") {
  const Tensor q = cloud(4, 2, 0), v = cloud(8, 1, 2);
  Tensor k = cloud(8, 2, 1);
  k[5][1] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(gauss_sum(q, k, v, {}), "k row 5, column 1 is nan", InputError);
  k[5][1] = 0;
  k[2][0] = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(gauss_sum(k, q, cloud(4, 1, 2), {}), "q row 2, column 0 is -inf", InputError);
  Tensor w = cloud(8, 3, 3);
  w[7][2] = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH_AS(gauss_sum(q, cloud(8, 2, 1), w, {}), "v row 7, column 2 is inf", InputError);
  for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    Tensor batch = cloud(12, 2, 1).view({2, 6, 2}).to(dtype);
    batch[1][4][1] = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(gauss_sum(batch, batch, batch, {}), "q batch 1, row 4, column 1 is nan", InputError);
  }
}

TEST_CASE("ker-17: a bandwidth that is no bandwidth is refused") {
  const Tensor x = cloud(3, 2, 0);
  for (const double tau : {0.0, -1.0, double(NAN), double(INFINITY)})
    CHECK_THROWS_AS(gauss_sum(x, x, x, {.tau = tau}), InputError);
}

TEST_CASE("operands that do not fit are refused with their shapes") {
  const Tensor x = cloud(3, 2, 0);
  CHECK_THROWS_WITH_AS(gauss_sum(x, cloud(3, 3, 0), x, {}),
                       "q and k must have the same dimension: q [3, 2], k [3, 3], v [3, 2]", ShapeError);
  CHECK_THROWS_AS(gauss_sum(x, x, cloud(4, 1, 0), {}), ShapeError);
  CHECK_THROWS_AS(gauss_sum(x, x, x.to(at::kFloat), {}), ShapeError);
  CHECK_THROWS_AS(gauss_sum(x, x.unsqueeze(0), x, {}), ShapeError);
  CHECK_THROWS_AS(gauss_sum(x.to(at::kLong), x.to(at::kLong), x.to(at::kLong), {}), ShapeError);
  CHECK_THROWS_AS(gauss_sum(at::zeros({3, 0}), at::zeros({3, 0}), at::zeros({3, 1}), {}), ShapeError);
  CHECK_THROWS_AS(gauss_sum(Tensor(), x, x, {}), ShapeError);
}

TEST_CASE("the choice is the evaluation, says why, and depends on the operands alone") {
  const Tensor x = cloud(100, 2, 0), v = cloud(100, 1, 1);
  CHECK(choose(x, x, v, {}).reduction == Reduction::direct);
  CHECK((choose(x, x, v, {}).compute_dtype == at::kDouble));
  const Tensor x32 = x.to(at::kFloat);
  const Choice half = choose(x32, x32, v.to(at::kFloat), {.compute_dtype = at::kHalf});
  CHECK((half.compute_dtype == at::kFloat));
  CHECK(half.reason == "fp16 brings no speed on the CPU");
  CHECK(choose(x, x, v, {.tau = .1, .reduction = Reduction::prescale}).reduction == Reduction::prescale);
  CHECK(choose(x, x, v, {.tau = .1, .backend = AttentionBackend::flash}).reduction == Reduction::logit);
  for (int i = 0; i < 3; ++i) CHECK(choose(x, x, v, {.tau = 1e9}).reason == choose(x.clone(), x, v, {.tau = 1e9}).reason);
}

TEST_CASE("what a named reduction cannot hold is refused with the numbers") {
  const Tensor x = at::cat({cloud(20, 3, 0) - 100, cloud(20, 3, 1) + 100}, 0), v = cloud(40, 1, 2);
  for (const Reduction reduction : {Reduction::reweight, Reduction::prescale, Reduction::logit}) {
    CAPTURE(name_of(reduction));
    std::string message;
    try {
      gauss_sum(x, x, v, {.reduction = reduction});
    } catch (const UnsupportedError& error) {
      message = error.what();
    }
    CHECK(message.find(name_of(reduction) + " in fp64") != std::string::npos);
    CHECK(message.find("3.") != std::string::npos);  // ρ is about 3.1e4
    CHECK(message.find("use reduction auto") != std::string::npos);
  }
  CHECK_THROWS_AS(gauss_sum(x, x, v, {.reduction = Reduction::reference, .backend = AttentionBackend::flash}),
                  UnsupportedError);
  CHECK_THROWS_AS(gauss_sum(x, x, v, {.reduction = Reduction::direct, .backend = AttentionBackend::flash}),
                  UnsupportedError);
  CHECK_THROWS_AS(gauss_sum(x, x, v, {.compute_dtype = at::kLong}), UnsupportedError);
}

TEST_CASE("the sum is linear in v, and invariant under shifts and the order of keys") {
  const Tensor q = cloud(30, 3, 0), k = cloud(50, 3, 1), v = cloud(50, 2, 2), w = cloud(50, 2, 3),
               order = at::randperm(50, at::kLong);
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .2, .reduction = reduction};
    const Tensor s = gauss_sum(q, k, v, options);
    CHECK(at::allclose(gauss_sum(q, k, 2 * v - 3 * w, options), 2 * s - 3 * gauss_sum(q, k, w, options), 1e-12, 1e-12));
    CHECK(at::allclose(gauss_sum(q + 5, k + 5, v, options), s, 1e-12, 1e-12));
    CHECK(at::allclose(gauss_sum(q, k.index_select(0, order), v.index_select(0, order), options), s, 1e-12, 1e-12));
  }
}

TEST_CASE("att-02: batches over 65535 are the single call, first and last") {
  const std::int64_t B = 65536;
  const Tensor q = cloud(4, 8, 0), k = cloud(4, 8, 1), v = cloud(4, 1, 2);
  const auto all = [B](const Tensor& t) { return t.unsqueeze(0).expand({B, t.size(0), t.size(1)}); };
  for (const Reduction reduction : {Reduction::automatic, Reduction::reweight}) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .2, .reduction = reduction};
    const Tensor s = gauss_sum(all(q), all(k), all(v), options), one = gauss_sum(q, k, v, options);
    for (const std::int64_t b : {std::int64_t{0}, B - 1}) CHECK(at::allclose(s[b], one, 1e-13, 1e-14));
  }
}
