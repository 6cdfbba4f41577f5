// Fields, Stein directions, symmetric sums and other profiles: what shares the fused kernel's inner loop.

#include "gaussflow/kernel/direct.hpp"

#include "kernel/direct_oracle.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace gaussflow {
namespace {

using oracle::cloud;
using oracle::eps;

constexpr at::ScalarType dtypes[] = {at::kFloat, at::kDouble};

/// The gradient's own terms: τ Φ w (k − q).
oracle::Sums gradient_sums(const Tensor& q, const Tensor& k, const Tensor& w, double tau) {
  const oracle::Matrix qm(q), km(k), wm(w.unsqueeze(1));
  return oracle::sums(q, k, q.size(1), oracle::gaussian(tau), [&](std::int64_t m, std::int64_t n, std::int64_t i) {
    return static_cast<long double>(tau) * wm(n, 0) * (static_cast<long double>(km(n, i)) - qm(m, i));
  });
}

struct FieldErrors {
  double value, gradient;
};
FieldErrors field_errors(const Tensor& q, const Tensor& k, const Tensor& w, double tau) {
  const DirectField got = direct_field(q, k, w, tau);
  const double unit = eps(q.scalar_type());
  return {oracle::contract_error(got.value.unsqueeze(1), oracle::sums(q, k, w.unsqueeze(1), oracle::gaussian(tau))) / unit,
          oracle::contract_error(got.gradient, gradient_sums(q, k, w, tau)) / unit};
}

TEST_CASE("a field and its gradient keep the contract in every dimension") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 8, 17, 40}) {
      for (const double tau : {0.01, 1.0, 30.0}) {
        CAPTURE(D);
        CAPTURE(tau);
        const double scale = 1 / std::sqrt(static_cast<double>(D));
        const auto errors = field_errors(cloud(1, 50, D, dtype, scale), cloud(2, 300, D, dtype, scale),
                                         cloud(3, 300, 1, dtype).squeeze(1), tau);
        CHECK(errors.value < 16);
        CHECK(errors.gradient < 32);
      }
    }
  }
}

TEST_CASE("the gradient of a field does not cancel on offset or far data") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 2, 3, 4, 7}) {
      for (const double far : {10.0, 300.0, 1e5}) {
        CAPTURE(D);
        CAPTURE(far);
        Tensor q = cloud(1, 40, D, dtype), k = cloud(2, 200, D, dtype);
        const Tensor w = cloud(3, 200, 1, dtype).squeeze(1);
        CHECK(field_errors(q + far, k + far, w, 1.0).gradient < 16);
        // fp64 with D > 4 has no wider type to retreat to: its terms w (k − mean) cancel in proportion to the spread.
        if (dtype == at::kDouble && D > 4) continue;
        q.narrow(0, 0, 20) += far;
        q.narrow(0, 20, 20) -= far;
        k.narrow(0, 0, 100) += far;
        k.narrow(0, 100, 100) -= far;
        CHECK(field_errors(q, k, w, 1.0).gradient < 16);
      }
    }
  }
}

TEST_CASE("the gradient at the centre of a symmetric pair is exactly zero") {
  const Tensor q = tensor_from({0.0, 0.0}, 1, 2), k = tensor_from({1.0, 2.0, -1.0, -2.0}, 2, 2);
  const DirectField field = direct_field(q, k, tensor_from({1.0, 1.0}), 0.5);
  CHECK(field.gradient.eq(0).all().item<bool>());
  CHECK(field.value.item<double>() == doctest::Approx(2 * std::exp(-0.25 * 5)).epsilon(1e-15));
}

TEST_CASE("Stein directions equal their definition") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t D : {1, 2, 3, 4, 5, 12, 33}) {
      for (const double far : {0.0, 20.0}) {
        CAPTURE(D);
        CAPTURE(far);
        const Tensor x = cloud(1, 150, D, dtype) + far, score = cloud(2, 150, D, dtype),
                     a = cloud(3, 150, 1, dtype).abs().squeeze(1);
        const double tau = 0.8;
        const oracle::Matrix xm(x), sm(score), am(a.unsqueeze(1));
        // Errors are measured in the terms Φ a (|s| + τ|x − q|).
        oracle::Sums want =
            oracle::sums(x, x, D, oracle::gaussian(tau), [&](std::int64_t m, std::int64_t n, std::int64_t i) {
              return am(n, 0) * (sm(n, i) - static_cast<long double>(tau) * (static_cast<long double>(xm(n, i)) - xm(m, i)));
            });
        CHECK(oracle::contract_error(direct_stein(x, x, score, a, tau), want) < 8 * eps(dtype));
      }
    }
  }
}

TEST_CASE("two particles on a Gaussian rest at the separation of the closed form") {
  // Half separation² = ln(1 + 2τ)/(2τ) for N(0, 1) at τ = 1.
  const double half = std::sqrt(std::log(3.0) / 2);
  const Tensor x = tensor_from({half, -half}, 2, 1);
  CHECK(direct_stein(x, x, -x, tensor_from({0.5, 0.5}), 1.0).abs().max().item<double>() < 3e-16);
}

TEST_CASE("symmetric sums equal the plain sum") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t N : {1, 3, 16, 63, 64, 65, 129, 500, 1025, 2600}) {
      for (const std::int64_t D : {1, 3, 4, 6}) {
        for (const std::int64_t C : {1, 2, 3, 4, 5}) {
          CAPTURE(N);
          CAPTURE(D);
          CAPTURE(C);
          const Tensor x = cloud(1, N, D, dtype), v = cloud(3, N, C, dtype);
          const Tensor plain = direct_gauss_sum(x, x, v, 0.5), absolute = direct_gauss_sum(x, x, v.abs(), 0.5);
          const Tensor error = (direct_symmetric_sum(x, v, 0.5) - plain).norm(2, 0) / absolute.norm(2, 0);
          CHECK(error.max().item<double>() < eps(dtype));
        }
      }
    }
  }
}

TEST_CASE("symmetric sums keep the contract for wide clouds and any profile") {
  for (const at::ScalarType dtype : dtypes) {
    const Tensor x = cloud(1, 300, 3, dtype, 100), v = cloud(3, 300, 2, dtype);
    CHECK(oracle::contract_error(direct_symmetric_sum(x, v, 0.01), oracle::sums(x, x, v, oracle::gaussian(0.01))) <
          3 * eps(dtype));
    const auto want = oracle::sums(x, x, v, [](long double r2) { return -std::sqrt(r2); });
    CHECK(oracle::contract_error(direct_symmetric_sum(x, v, 1.0, Profile::riesz), want) < 3 * eps(dtype));
  }
}

TEST_CASE("the energy is the quadratic form, in batches too") {
  for (const at::ScalarType dtype : dtypes) {
    for (const std::int64_t N : {1, 2, 64, 65, 1000}) {
      for (const std::int64_t D : {2, 5}) {
        CAPTURE(N);
        const Tensor x = cloud(1, 2 * N, D, dtype).view({2, N, D}), v = cloud(3, 2 * N, 1, dtype).view({2, N});
        const Tensor got = direct_energy(x, v, 0.7);
        REQUIRE((got.scalar_type() == at::kDouble));
        REQUIRE((got.sizes() == at::IntArrayRef({2})));
        for (int b = 0; b < 2; ++b) {
          const auto s = oracle::sums(x[b], x[b], v[b].unsqueeze(1), oracle::gaussian(0.7));
          const oracle::Matrix values(v[b].unsqueeze(1));
          double want = 0, scale = 0;
          for (std::int64_t n = 0; n < N; ++n) {
            want += values(n, 0) * s.sum[static_cast<std::size_t>(n)];
            scale += std::abs(values(n, 0)) * s.absolute[static_cast<std::size_t>(n)];
          }
          CHECK(std::abs(got[b].item<double>() - want) < 2 * eps(dtype) * scale);
          CHECK(direct_energy(x[b], v[b], 0.7).item<double>() == got[b].item<double>());
        }
      }
    }
  }
}

TEST_CASE("a small squared discrepancy keeps its digits in fp32") {
  // Two samples of one law: MMD² ~ 1/n is a difference of sums a thousand times larger.
  const Tensor x = cloud(1, 4000, 2, at::kFloat);
  const Tensor v = at::cat({at::full({2000}, 1.0 / 2000), at::full({2000}, -1.0 / 2000)}).to(at::kFloat);
  const double exact = direct_energy(x.to(at::kDouble), v.to(at::kDouble), 1.0).item<double>();
  CHECK(std::abs(direct_energy(x, v, 1.0).item<double>() - exact) < 1e-4 * exact);
}

struct Named {
  Profile profile;
  oracle::Radial radial;
};

TEST_CASE("every profile keeps the contract") {
  const double tau = 0.6;
  const Named profiles[] = {
      {Profile::gaussian, oracle::gaussian(tau)},
      {Profile::laplace, [&](long double r2) { return std::exp(-std::sqrt(tau * r2)); }},
      {Profile::imq, [&](long double r2) { return 1 / std::sqrt(1 + tau * r2); }},
      {Profile::riesz, [&](long double r2) { return -std::sqrt(r2); }},
      {Profile::matern32,
       [&](long double r2) {
         const long double a = std::sqrt(3 * tau * r2);
         return (1 + a) * std::exp(-a);
       }},
      {Profile::matern52,
       [&](long double r2) {
         const long double a = std::sqrt(5 * tau * r2);
         return (1 + a + a * a / 3) * std::exp(-a);
       }},
  };
  for (const at::ScalarType dtype : dtypes) {
    for (const Named& named : profiles) {
      for (const std::int64_t D : {1, 3, 9, 33}) {
        for (const std::int64_t C : {1, 7}) {
          for (const double far : {0.0, 1000.0}) {
            CAPTURE(static_cast<int>(named.profile));
            CAPTURE(D);
            CAPTURE(far);
            const Tensor q = cloud(1, 40, D, dtype), v = cloud(3, 150, C, dtype);
            Tensor k = cloud(2, 150, D, dtype);
            k[3] = q[5];  // r = 0
            k[4] += far;
            CHECK(oracle::contract_error(direct_radial_sum(q, k, v, tau, named.profile),
                                         oracle::sums(q, k, v, named.radial)) < 4 * eps(dtype));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace gaussflow
