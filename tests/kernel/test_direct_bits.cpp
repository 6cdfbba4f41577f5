// What a row's bits depend on: nothing but its query, the keys and the values.

#include "gaussflow/kernel/direct.hpp"

#include "kernel/direct_oracle.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>
#include <hwy/targets.h>

#include <vector>

namespace gaussflow {
namespace {

using oracle::cloud;

struct Shape {
  std::int64_t D, C;
};
constexpr Shape shapes[] = {{1, 1}, {3, 4}, {3, 5}, {10, 11}, {33, 2}};

template <class F>
auto on_threads(int threads, const F& f) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  auto result = f();
  at::set_num_threads(before);
  return result;
}

TEST_CASE("one, two and three threads give the same bits") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const Shape s : shapes) {
      for (const std::int64_t M : {3, 100, 2000}) {
        CAPTURE(M);
        CAPTURE(s.D);
        const Tensor q = cloud(1, M, s.D, dtype), k = cloud(2, 5000, s.D, dtype), v = cloud(3, 5000, s.C, dtype);
        const Tensor one = on_threads(1, [&] { return direct_gauss_sum(q, k, v, 0.3); });
        CHECK(at::equal(one, on_threads(2, [&] { return direct_gauss_sum(q, k, v, 0.3); })));
        CHECK(at::equal(one, on_threads(3, [&] { return direct_gauss_sum(q, k, v, 0.3); })));
      }
    }
  }
}

TEST_CASE("symmetric sums and energies have the same bits on one, two and three threads") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t D : {2, 7}) {
      const Tensor x = cloud(1, 5003, D, dtype), v = cloud(3, 5003, 2, dtype);
      const Tensor one = on_threads(1, [&] { return direct_symmetric_sum(x, v, 0.3); });
      const Tensor energy = on_threads(1, [&] { return direct_energy(x, v.select(1, 0), 0.3); });
      for (const int threads : {2, 3}) {
        CHECK(at::equal(one, on_threads(threads, [&] { return direct_symmetric_sum(x, v, 0.3); })));
        CHECK(at::equal(energy, on_threads(threads, [&] { return direct_energy(x, v.select(1, 0), 0.3); })));
      }
    }
  }
}

TEST_CASE("a row does not depend on the other queries") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const Shape s : shapes) {
      const Tensor q = cloud(1, 700, s.D, dtype), k = cloud(2, 3000, s.D, dtype), v = cloud(3, 3000, s.C, dtype);
      const Tensor all = direct_gauss_sum(q, k, v, 0.3);
      for (const std::int64_t M : {1, 5, 64, 65, 333}) {
        CAPTURE(M);
        CHECK(at::equal(direct_gauss_sum(q.narrow(0, 0, M), k, v, 0.3), all.narrow(0, 0, M)));
        CHECK(at::equal(direct_gauss_sum(q.narrow(0, 700 - M, M), k, v, 0.3), all.narrow(0, 700 - M, M)));
      }
      Tensor far = q.clone();
      far.narrow(0, 0, 350) += 1e5;
      CHECK(at::equal(direct_gauss_sum(far, k, v, 0.3).narrow(0, 350, 350), all.narrow(0, 350, 350)));
    }
  }
}

TEST_CASE("a channel does not depend on the kernel's other channels of the same part") {
  const Tensor q = cloud(1, 50, 3, at::kFloat), k = cloud(2, 900, 3, at::kFloat), v = cloud(3, 900, 4, at::kFloat);
  const Tensor all = direct_gauss_sum(q, k, v, 0.3);
  for (const std::int64_t c : {0, 3}) CHECK(at::equal(direct_gauss_sum(q, k, v.narrow(1, c, 1), 0.3), all.narrow(1, c, 1)));
}

TEST_CASE("strided, transposed and expanded views give the bits of their copies") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const Shape s : shapes) {
      const Tensor q = cloud(1, 2 * s.D + 1, 60, dtype).t().slice(1, 1, 2 * s.D + 1, 2);
      const Tensor k = cloud(2, 400, 2 * s.D, dtype).slice(0, 0, 400, 2).narrow(1, s.D, s.D);
      const Tensor v = cloud(3, s.C, 200, dtype).t();
      CHECK(
          at::equal(direct_gauss_sum(q, k, v, 0.5), direct_gauss_sum(q.contiguous(), k.contiguous(), v.contiguous(), 0.5)));
      const Tensor same = v.narrow(1, 0, 1).expand({200, 3});
      CHECK(at::equal(direct_gauss_sum(q, k, same, 0.5), direct_gauss_sum(q, k, same.contiguous(), 0.5)));
    }
  }
}

TEST_CASE("a batch is its problems one by one") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const Shape s : shapes) {
      const Tensor q = cloud(1, 3 * 70, s.D, dtype).view({3, 70, s.D}),
                   k = cloud(2, 3 * 500, s.D, dtype).view({3, 500, s.D});
      const Tensor v = cloud(3, 3 * 500, s.C, dtype).view({3, 500, s.C});
      const Tensor all = direct_gauss_sum(q, k, v, 0.4);
      REQUIRE((all.sizes() == at::IntArrayRef({3, 70, s.C})));
      for (int b = 0; b < 3; ++b) CHECK(at::equal(all[b], direct_gauss_sum(q[b], k[b], v[b], 0.4)));
      const Tensor shared = direct_gauss_sum(q, k[0].expand({3, 500, s.D}), v[0].expand({3, 500, s.C}), 0.4);
      for (int b = 0; b < 3; ++b) CHECK(at::equal(shared[b], direct_gauss_sum(q[b], k[0], v[0], 0.4)));
    }
  }
}

TEST_CASE("every instruction set keeps the contract") {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_AVX2, HWY_SCALAR}) {
    if (target == HWY_SCALAR || (hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      for (const std::int64_t D : {1, 2, 3, 4, 5, 10, 33}) {
        for (const std::int64_t C : {1, 2, 3, 4, 5, 7, 34}) {
          CAPTURE(hwy::TargetName(target));
          CAPTURE(D);
          CAPTURE(C);
          const Tensor q = cloud(1, 30, D, dtype, 0.5), k = cloud(2, 130, D, dtype, 0.5), v = cloud(3, 130, C, dtype);
          const auto want = oracle::sums(q, k, v, oracle::gaussian(0.7));
          CHECK(oracle::contract_error(direct_gauss_sum(q, k, v, 0.7), want) < 1 * oracle::eps(dtype));
          Tensor wide_q = q.clone(), wide_k = k.clone();  // beyond the small kernel's scaled form
          wide_q.narrow(0, 0, 15) += 500;
          wide_k.narrow(0, 0, 65) += 500;
          const auto want_wide = oracle::sums(wide_q, wide_k, v, oracle::gaussian(0.7));
          CHECK(oracle::contract_error(direct_gauss_sum(wide_q, wide_k, v, 0.7), want_wide) < 2 * oracle::eps(dtype));
          if (C <= 4) {
            const auto want_symmetric = oracle::sums(k, k, v, oracle::gaussian(0.7));
            CHECK(oracle::contract_error(direct_symmetric_sum(k, v, 0.7), want_symmetric) < 1 * oracle::eps(dtype));
          }
        }
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

}  // namespace
}  // namespace gaussflow
