#include "gaussflow/kernel/direct.hpp"

#include "kernel/direct_oracle.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

namespace gaussflow {
namespace {

using oracle::cloud;
using oracle::eps;

constexpr at::ScalarType dtypes[] = {at::kFloat, at::kDouble};

/// Error of the sum in units of eps.
double error_of(const Tensor& q, const Tensor& k, const Tensor& v, double tau) {
  const auto want = oracle::sums(q, k, v, oracle::gaussian(tau));
  return oracle::contract_error(direct_gauss_sum(q, k, v, tau), want) / eps(v.scalar_type());
}

double error_of(std::int64_t M, std::int64_t N, std::int64_t D, std::int64_t C, double tau, at::ScalarType dtype) {
  const double scale = 1 / std::sqrt(static_cast<double>(D));
  return error_of(cloud(1, M, D, dtype, scale), cloud(2, N, D, dtype, scale), cloud(3, N, C, dtype), tau);
}

// The contract is 32 eps; the bounds here are what was measured, doubled: a kernel that suddenly needs more is broken.

TEST_CASE("the fused sum keeps the contract for every dimension and number of channels") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31, 32, 33, 64, 128, 300}) {
      for (const std::int64_t C : {1, 2, 3, 4, 5, 6, 7, 8, 33, 129}) {
        CAPTURE(D);
        CAPTURE(C);
        CHECK(error_of(37, 71, D, C, 1.0, dtype) < 1);
      }
    }
  }
}

TEST_CASE("block edges in queries and keys are exact") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {2, 5}) {
      for (const std::int64_t C : {1, 7}) {
        for (const std::int64_t M : {1, 2, 3, 4, 5, 63, 64, 65, 130}) {
          for (const std::int64_t N : {1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025, 2100}) {
            CAPTURE(M);
            CAPTURE(N);
            CHECK(error_of(M, N, D, C, 0.7, dtype) < 3);
          }
        }
      }
    }
  }
}

TEST_CASE("tau from 1e-3 to 1e4 costs no accuracy") {
  for (const at::ScalarType dtype : dtypes) {
    for (const double tau : {1e-3, 1e-2, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4}) {
      for (const std::int64_t D : {1, 3, 4, 10, 64}) {
        CAPTURE(tau);
        CAPTURE(D);
        CHECK(error_of(64, 500, D, 3, tau, dtype) < 32);
      }
    }
  }
}

TEST_CASE("sums far below their values keep the contract") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 20, 64, 300}) {
      for (double exponent = 20; exponent < (dtype == at::kFloat ? 126 : 1022); exponent += 20) {  // of the nearest pair
        CAPTURE(D);
        CAPTURE(exponent);
        const double distance = std::sqrt(2 * exponent * std::log(2.0) / 1.1), scale = 1e-3;
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
          const Tensor direction = cloud(10 + seed, 1, D, dtype);
          const Tensor q = cloud(seed, 20, D, dtype, scale), v = cloud(3, 5, 2, dtype);
          const Tensor k = cloud(2, 5, D, dtype, scale) + direction / direction.norm() * distance;
          CHECK(error_of(q, k, v, 1.1) < 32);
        }
      }
    }
  }
}

TEST_CASE("neither offset, nor far clusters, nor an outlier costs accuracy") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 3, 4, 6, 40}) {
      for (const double far : {30.0, 300.0, 1e4, 1e6}) {
        CAPTURE(D);
        CAPTURE(far);
        const double scale = D > 6 ? 0.3 : 1;
        const Tensor q = cloud(1, 40, D, dtype, scale), k = cloud(2, 200, D, dtype, scale), v = cloud(3, 200, 2, dtype);
        CHECK(error_of(q + far, k + far, v, 1.0) < 3);
        Tensor q2 = q.clone(), k2 = k.clone();
        q2.narrow(0, 0, 20) += far;
        q2.narrow(0, 20, 20) -= far;
        k2.narrow(0, 0, 100) += far;
        k2.narrow(0, 100, 100) -= far;
        CHECK(error_of(q2, k2, v, 1.0) < 3);
        Tensor k3 = k.clone();
        k3[17] = far * 1e3;
        CHECK(error_of(q, k3, v, 1.0) < 3);
        Tensor q3 = q.clone();
        q3[5] = far * 1e3;
        CHECK(error_of(q3, k, v, 1.0) < 3);
      }
    }
  }
}

TEST_CASE("equal points sum their values, points out of reach give exact zeros") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 3, 9}) {
      const Tensor one = cloud(1, 1, D, dtype), v = at::ones({3000, 2}, one.options());
      CHECK(at::equal(direct_gauss_sum(one.expand({5, D}), one.expand({3000, D}), v, 3.0),
                      at::full({5, 2}, 3000, v.options())));
      CHECK(at::equal(direct_gauss_sum(one, one + 100, v.narrow(0, 0, 1), 1.0), at::zeros({1, 2}, v.options())));
      CHECK(at::equal(direct_gauss_sum(one, one + 1e18, v.narrow(0, 0, 1), 1.0), at::zeros({1, 2}, v.options())));
    }
  }
}

TEST_CASE("values at both ends of their type's range are summed as any other") {
  for (const std::int64_t D : {3, 7}) {
    const Tensor q = cloud(1, 20, D, at::kFloat), k = cloud(2, 90, D, at::kFloat), v = cloud(3, 90, 2, at::kFloat);
    const Tensor want = direct_gauss_sum(q, k, v, 0.1);
    CHECK(at::equal(direct_gauss_sum(q, k, v * std::ldexp(1.0F, 100), 0.1), want * std::ldexp(1.0F, 100)));
    const Tensor tiny = v * std::ldexp(1.0F, -130);  // subnormal: rounded already
    CHECK(oracle::contract_error(direct_gauss_sum(q, k, tiny, 0.1).to(at::kDouble) * std::ldexp(1.0, 130),
                                 oracle::sums(q, k, tiny.to(at::kDouble) * std::ldexp(1.0, 130), oracle::gaussian(0.1))) <
          1e-4);
  }
}

TEST_CASE("NaN stays where it belongs, an infinite query is out of reach") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 3, 6}) {
      const Tensor q = cloud(1, 9, D, dtype), k = cloud(2, 50, D, dtype), v = cloud(3, 50, 2, dtype);
      const Tensor clean = direct_gauss_sum(q, k, v, 1.0);
      Tensor bad = q.clone();
      bad[4][D - 1] = nan;
      bad[7][0] = infinity;
      const Tensor got = direct_gauss_sum(bad, k, v, 1.0);
      CHECK(got[4].isnan().all().item<bool>());
      CHECK(got[7].eq(0).all().item<bool>());
      for (const int row : {0, 1, 2, 3, 5, 6, 8}) CHECK(at::equal(got[row], clean[row]));

      Tensor bad_key = k.clone();
      bad_key[49][0] = nan;
      CHECK(direct_gauss_sum(q, bad_key, v, 1.0).isnan().all().item<bool>());
      Tensor bad_value = v.clone();
      bad_value[3][1] = nan;
      const Tensor half = direct_gauss_sum(q, k, bad_value, 1.0);
      CHECK(half.select(1, 1).isnan().all().item<bool>());
      CHECK(at::equal(half.select(1, 0), clean.select(1, 0)));
    }
  }
}

TEST_CASE("the error does not grow with the number of keys") {
  const std::int64_t N = 1 << 20;
  const Tensor q = cloud(1, 8, 3, at::kFloat, 0.6), k = cloud(2, N, 3, at::kFloat, 0.6);
  for (const bool positive : {false, true}) {
    Tensor v = cloud(3, N, 1, at::kFloat);
    if (positive) v = v.abs();
    CHECK(error_of(q, k, v, 1.0) < 1);
  }
}

TEST_CASE("fp64 points may be summed in fp32 and fp32 points in fp64") {
  for (const std::int64_t D : {2, 3, 8}) {
    const Tensor q = cloud(1, 60, D, at::kDouble) + 1e6, k = cloud(2, 300, D, at::kDouble) + 1e6,
                 v = cloud(3, 300, 3, at::kDouble);
    const auto want = oracle::sums(q, k, v, oracle::gaussian(1.0));
    const Tensor low = direct_gauss_sum(q, k, v, 1.0, at::kFloat);
    CHECK((low.scalar_type() == at::kDouble));
    CHECK(oracle::contract_error(low, want) < 3 * eps(at::kFloat));

    const Tensor qf = q.to(at::kFloat), kf = k.to(at::kFloat), vf = v.to(at::kFloat);
    const auto want_f = oracle::sums(qf, kf, vf, oracle::gaussian(1.0));
    const Tensor high = direct_gauss_sum(qf, kf, vf, 1.0, at::kDouble);
    CHECK((high.scalar_type() == at::kFloat));
    CHECK(oracle::contract_error(high, want_f) < 0.6 * eps(at::kFloat));  // the rounding of the result
  }
}

TEST_CASE("what direct does not take it refuses with the number") {
  const Tensor q = cloud(1, 5, 2, at::kFloat), v = cloud(3, 5, 1, at::kFloat);
  std::string why;
  CHECK(direct_supports(q, q, v, {}, nullptr));
  CHECK_FALSE(direct_supports(q * 1e30, q, v, {.tau = 1e20}, &why));
  CHECK(why.find("e+40") != std::string::npos);
  CHECK_FALSE(direct_supports(q.to(at::kHalf), q.to(at::kHalf), v.to(at::kHalf), {}, &why));
  CHECK(why.find("fp16") != std::string::npos);
  const Tensor wide = q.to(at::kDouble) * 1000, v64 = v.to(at::kDouble);
  CHECK(direct_supports(wide, wide, v64, {}, nullptr));
  CHECK_FALSE(direct_supports(wide, wide, v64, {.compute_dtype = at::kFloat}, &why));
  CHECK(why.find("up to 1.2") != std::string::npos);
}

TEST_CASE("fp64 points in fp32 keep the contract up to the spread that is taken") {
  for (const std::int64_t D : {1, 3, 8}) {
    const Tensor at_edge = cloud(1, 200, D, at::kDouble).div_(40).add_(1.0 / std::sqrt(static_cast<double>(D)));
    const Tensor k = at::cat({at_edge, -at_edge}), v = cloud(3, 400, 2, at::kDouble);
    REQUIRE(direct_supports(k, k, v, {.compute_dtype = at::kFloat}, nullptr));
    const auto want = oracle::sums(k, k, v, oracle::gaussian(1.0));
    CHECK(oracle::contract_error(direct_gauss_sum(k, k, v, 1.0, at::kFloat), want) < 32 * eps(at::kFloat));
  }
}

TEST_CASE("a few pairs that are far apart keep the contract: nothing averages their errors") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const double R : {1.0, 3.0, 5.0, 7.0}) {
      for (int i = 0; i < 400; ++i) {
        const Tensor q = tensor_from({R + 4.5 + 0.01 * i}, 1, 1).to(type), k = tensor_from({-R, R}, 2, 1).to(type);
        const Tensor v = at::ones({2, 1}, k.options());
        const long double x = q.item<double>(), near = x - R, far = x + R;
        const long double want = std::exp(-near * near / 2) + std::exp(-far * far / 2);
        const long double got = direct_gauss_sum(q, k, v, 1.0).item<double>();
        const double found = static_cast<double>(std::abs(got - want) / want) / eps(type);
        CAPTURE(R);
        CAPTURE(i);
        CHECK(found < 32);
      }
    }
  }
}

TEST_CASE("one pair in 33 dimensions keeps the contract beside keys that are far") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (int i = 0; i < 300; ++i) {
      const auto along = [i](int which, double length) {
        const Tensor x = normal({5, Stream::data, static_cast<std::uint64_t>(3 * i + which)}, 1, 33);
        return x / x.norm() * length;
      };
      const Tensor q = along(0, 30).to(type), k = at::cat({q + along(1, 5.5).to(type), along(2, 30).to(type)});
      long double square = 0;
      for (int d = 0; d < 33; ++d) {
        const long double x = static_cast<long double>(q[0][d].item<double>()) - k[0][d].item<double>();
        square += x * x;
      }
      const long double want = std::exp(-square / 2),
                        got = direct_gauss_sum(q, k, at::ones({2, 1}, q.options()), 1.0).item<double>();
      CAPTURE(i);
      CHECK(static_cast<double>(std::abs(got - want) / want) < 32 * eps(type));
    }
  }
}

TEST_CASE("a pair below the range of the exponential counts where its value brings it back") {
  const Tensor q = at::zeros({1, 1}, at::kFloat), k = tensor_from({13.3}, 1, 1).to(at::kFloat);
  const double x = k.item<double>();
  const double got = direct_gauss_sum(q, k, at::full({1, 1}, 1e38, at::kFloat), 1.0).item<double>();
  CHECK(got == doctest::Approx(static_cast<double>(1e38F) * std::exp(-x * x / 2)).epsilon(1e-6));
}

TEST_CASE("empty operands give empty or zero results") {
  const Tensor q = cloud(1, 5, 2, at::kFloat), k = cloud(2, 0, 2, at::kFloat), v = cloud(3, 0, 3, at::kFloat);
  CHECK(at::equal(direct_gauss_sum(q, k, v, 1.0), at::zeros({5, 3}, q.options())));
  CHECK((direct_gauss_sum(k, q, cloud(3, 5, 3, at::kFloat), 1.0).sizes() == at::IntArrayRef({0, 3})));
}

}  // namespace
}  // namespace gaussflow
