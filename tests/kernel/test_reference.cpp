#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/reference.hpp"

#include "kernel/contract.hpp"
#include "kernel/reference_blocks.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

using namespace gaussflow;

namespace {

Tensor cloud(std::int64_t n, std::int64_t D, std::uint64_t step) { return normal({61, Stream::data, step}, n, D); }

}  // namespace

TEST_CASE("the reference holds 32 eps of fp64 where every pair is far apart, by both of its evaluations") {
  for (const std::int64_t D : {1, 2, 30, 200})
    for (const double x : {1.0, 30.0, 300.0, 650.0}) {  // the exponent of the typical pair
      CAPTURE(D);
      CAPTURE(x);
      const Tensor direction = cloud(1, D, 9), shift = direction / direction.norm() * std::sqrt(2 * x);
      const Tensor q = cloud(20, D, 0) * .01, k = cloud(40, D, 1) * .01 + shift, v = cloud(40, 3, 2);
      const auto exact = oracle::gauss_sum<long double>(q, k, v, 1);
      const auto b = [](const Tensor& t) { return t.unsqueeze(0); };
      const Tensor rows = reference_sum(b(q), b(k), b(v), 1, ReferenceAccuracy::fp64)[0];
      const Tensor blocks = reference_blocks(b(q), b(k), b(v), 1, ReferenceAccuracy::fp64)[0];
      CHECK(contract::excess(rows, exact, v, at::kDouble, 8 * contract::eps(at::kDouble)) <= 1);
      CHECK(contract::excess(blocks, exact, v, at::kDouble, 32 * contract::eps(at::kDouble)) <= 1);
    }
}

TEST_CASE("a row's bits depend on its query and the keys alone") {
  const Tensor q = cloud(77, 3, 0), k = cloud(500, 3, 1), v = cloud(500, 2, 2);
  for (const auto accuracy : {ReferenceAccuracy::fp32, ReferenceAccuracy::fp64}) {
    const auto sum = [&](const Tensor& rows) {
      return reference_sum(rows.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), 1, accuracy)[0];
    };
    const Tensor all = sum(q);
    for (const std::int64_t m : {0, 1, 15, 16, 40, 76}) CHECK(at::equal(sum(q.narrow(0, m, 1))[0], all[m]));
    CHECK(at::equal(sum(q.flip(0)).flip(0), all));
    const int threads = at::get_num_threads();
    at::set_num_threads(1);
    CHECK(at::equal(sum(q), all));
    at::set_num_threads(threads);
  }
}

TEST_CASE("extreme scales, precisions and values neither overflow nor turn into NaN") {
  for (const double scale : {1e-150, 1e-8, 1.0, 1e8, 1e150}) {
    const Tensor q = cloud(10, 2, 0) * scale, k = at::cat({q, cloud(10, 2, 1) * scale}, 0), v = cloud(20, 1, 2) * 1e100;
    const double tau = 1 / (scale * scale);
    const Tensor s = gauss_sum(q, k, v, {.tau = tau, .reduction = Reduction::reference});
    const auto exact = oracle::gauss_sum<double>(q / scale, k / scale, v, 1);
    CHECK((oracle::matrix(s) - exact.s).norm() <= 1e-13 * exact.s_abs.norm());
  }
  const Tensor far = tensor_from({-1e308, 0, 1e308}, 3, 1);
  CHECK(at::equal(gauss_sum(far, far, at::ones({3, 1}, at::kDouble), {.reduction = Reduction::reference}),
                  at::ones({3, 1}, at::kDouble)));
}

TEST_CASE("a long sum keeps its accuracy") {
  const std::int64_t n = 400'000;
  const Tensor q = cloud(2, 1, 0), k = cloud(n, 1, 1), v = at::ones({n, 1}, at::kDouble);
  const auto exact = oracle::gauss_sum<long double>(q, k, v, 1);
  const Tensor s = gauss_sum(q, k, v, {.reduction = Reduction::reference});
  CHECK(contract::excess(s, exact, v, at::kDouble, 4 * contract::eps(at::kDouble)) <= 1);
}
