#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/reweight.hpp"

#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

using namespace gaussflow;

namespace {

const std::vector<Reduction> attention{Reduction::reweight, Reduction::prescale, Reduction::logit};
const std::vector<at::ScalarType> dtypes{at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

Tensor cloud(std::int64_t B, std::int64_t n, std::int64_t D, std::uint64_t step) {
  return normal({41, Stream::data, step}, B * n, D).view({B, n, D});
}

}  // namespace

TEST_CASE("reductions agree with the double loop for all dimensions and channels around the padding edges") {
  const std::vector<std::int64_t> edges{1, 2, 5, 6, 7, 8, 9, 31, 32, 33, 64, 128};
  for (const std::int64_t D : edges)
    for (const std::int64_t C : edges)
      for (const std::int64_t B : {1, 3}) {
        const double scale = 1 / std::sqrt(static_cast<double>(D));
        const Tensor q = cloud(B, 33, D, 0) * scale, k = cloud(B, 65, D, 1) * scale, v = cloud(B, 65, C, 2);
        std::vector<oracle::Sum<double>> exact;
        for (std::int64_t b = 0; b < B; ++b) exact.push_back(oracle::gauss_sum(q[b], k[b], v[b], 1));
        for (const Reduction reduction : {Reduction::reweight, Reduction::prescale, Reduction::logit, Reduction::reference})
          for (const auto dtype : dtypes) {
            const std::string what =
                fmt::format("{} in {}, D {}, C {}, B {}", name_of(reduction), dtype_name(dtype), D, C, B);
            CAPTURE(what);
            Tensor s;
            try {
              s = gauss_sum(q, k, v, {.reduction = reduction, .compute_dtype = dtype});
            } catch (const UnsupportedError&) {
              CHECK(D <= 2);  // the widest clouds: ρ up to 10
              continue;
            }
            for (std::int64_t b = 0; b < B; ++b) {
              const double bound = contract::bound(reduction, dtype, contract::range(q[b], k[b], 1));
              CHECK(contract::excess(s[b], exact[b], v[b], dtype, bound) <= 1);
            }
          }
      }
}

TEST_CASE("beta and alpha stay inside Proposition 1 for every dtype and kappa") {
  for (const std::int64_t N : {1, 100, 5000})
    for (const double spread : {0.1, 1.0})
      for (const auto dtype : dtypes)
        for (const std::optional<double> kappa : {std::optional<double>(), std::optional(1.0), std::optional(37.0)}) {
          const Tensor q = cloud(1, 50, 2, 0)[0] * spread, k = cloud(1, N, 2, 1)[0] * spread, v = cloud(1, N, 3, 2)[0];
          const std::string what = fmt::format("N {}, spread {}, {}", N, spread, dtype_name(dtype));
          CAPTURE(what);
          try {
            const Reweighted r = reweight(q, k, v, {.tau = .25, .compute_dtype = dtype, .kappa = kappa});
            const double slack = 1 + 4 * contract::eps(dtype);
            CHECK(r.beta.min().item<double>() >= r.kappa / (static_cast<double>(N) + 1) / slack);
            CHECK(r.beta.max().item<double>() <= r.kappa * slack);
            CHECK(r.alpha.abs().max().item<double>() <= v.abs().max().item<double>() * slack);
            CHECK(r.kappa == kappa.value_or(default_kappa(N)));
          } catch (const UnsupportedError&) {
            CHECK(N == 1);  // a single pair far apart has nothing to hide its rounding
          }
        }
}

TEST_CASE("kappa is the power of two next to the root of N + 1, and at most 2^14") {
  CHECK(default_kappa(1) == 2);
  CHECK(default_kappa(3) == 2);
  CHECK(default_kappa(16383) == 128);
  CHECK(default_kappa(std::int64_t{1} << 28) == 16384);
  CHECK(default_kappa(std::int64_t{1} << 40) == 16384);
}

TEST_CASE("a kappa that is no weight is refused") {
  const Tensor x = cloud(1, 5, 2, 0)[0];
  for (const double kappa : {0.0, -1.0, double(NAN), double(INFINITY)})
    CHECK_THROWS_AS(gauss_sum(x, x, x, {.tau = .1, .reduction = Reduction::reweight, .kappa = kappa}), UnsupportedError);
}

TEST_CASE("half types hold their bound on wide clouds, where rounded coordinates alone would not") {
  for (const auto dtype : {at::kHalf, at::kBFloat16})
    for (const double R : {3.0, 10.0, 30.0}) {
      const Tensor k = cloud(1, 400, 3, 0)[0], x = k / k.norm(2, {1}, true) * R, q = x + 0.3 * cloud(1, 400, 3, 1)[0];
      const Tensor v = cloud(1, 400, 2, 2)[0];
      const auto exact = oracle::gauss_sum(q, x, v, 1);
      for (const Reduction reduction : {Reduction::reweight, Reduction::logit}) {
        const std::string what = fmt::format("{} in {}, R {}", name_of(reduction), dtype_name(dtype), R);
        CAPTURE(what);
        CHECK(contract::excess(gauss_sum(q, x, v, {.reduction = reduction, .compute_dtype = dtype}), exact, v, dtype,
                               contract::bound(reduction, dtype, R * R)) <= 1);
      }
    }
}

TEST_CASE("half operands are summed as they are, and return fp32") {
  const Tensor q = cloud(1, 60, 3, 0)[0], k = cloud(1, 80, 3, 1)[0], v = cloud(1, 80, 2, 2)[0];
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    const Tensor a = q.to(dtype), b = k.to(dtype), c = v.to(dtype);
    const auto exact = oracle::gauss_sum(a, b, c, .5);
    for (const Reduction reduction :
         {Reduction::automatic, Reduction::reference, Reduction::reweight, Reduction::logit, Reduction::prescale}) {
      CAPTURE(name_of(reduction));
      const Tensor s = gauss_sum(a, b, c, {.tau = .5, .reduction = reduction});
      CHECK((s.scalar_type() == at::kFloat));
      CHECK(contract::excess(s, exact, c, dtype, contract::bound(reduction, dtype, contract::range(a, b, .5))) <= 1);
    }
  }
}

TEST_CASE("the paper's own setting is inside every reduction's range") {
  for (const std::int64_t D : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Tensor x = cloud(1, 2048, D, 0)[0] / std::sqrt(static_cast<double>(D)), v = cloud(1, 2048, 1, 1)[0];
    const auto exact = oracle::gauss_sum<double>(x, x, v, 1);
    for (const auto dtype : dtypes)
      for (const Reduction reduction : attention) {
        const std::string what = fmt::format("{} in {}, D {}", name_of(reduction), dtype_name(dtype), D);
        CAPTURE(what);
        const Tensor s = gauss_sum(x, x, v, {.reduction = reduction, .compute_dtype = dtype});
        CHECK(contract::excess(s, exact, v, dtype, contract::bound(reduction, dtype, contract::range(x, x, 1))) <= 1);
      }
  }
}
