#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/direct.hpp"

#include "kernel/direct_oracle.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

namespace gaussflow {
namespace {

Tensor cloud(std::uint64_t seed, std::int64_t n, std::int64_t d, at::ScalarType dtype, double scale = 1) {
  return (normal({seed, Stream::data, 0}, n, d) * scale).to(dtype);
}

double error_eps(std::int64_t M, std::int64_t N, std::int64_t D, std::int64_t C, double tau, at::ScalarType dtype) {
  const Tensor q = cloud(1, M, D, dtype, 1 / std::sqrt(D)), k = cloud(2, N, D, dtype, 1 / std::sqrt(D)),
               v = cloud(3, N, C, dtype);
  const double eps = dtype == at::kFloat ? 1.2e-7 : 2.2e-16;
  return oracle::contract_error(direct_gauss_sum(q, k, v, tau), oracle::sums(q, k, v, oracle::gaussian(tau))) / eps;
}

TEST_CASE("the fused sum keeps the accuracy contract for every dimension and channel count") {
  double worst[2] = {0, 0};
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t D :
         {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31, 32, 33, 64, 128, 300}) {
      for (const std::int64_t C : {1, 2, 3, 4, 5, 6, 7, 8, 33, 129}) {
        CAPTURE(D);
        CAPTURE(C);
        const double error = error_eps(37, 71, D, C, 1.0, dtype);
        CHECK(error < 8);
        double& w = worst[dtype == at::kDouble];
        w = std::max(w, error);
      }
    }
  }
  MESSAGE("worst, eps: fp32 " << worst[0] << ", fp64 " << worst[1]);
}

}  // namespace
}  // namespace gaussflow
