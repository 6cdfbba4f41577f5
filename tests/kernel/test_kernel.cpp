#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/kernel.hpp"

#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;

namespace {

Tensor points(std::int64_t n, std::int64_t D, std::uint64_t step) { return normal({11, Stream::data, step}, n, D); }
double distance(const Tensor& a, const oracle::Matrix<double>& b) {
  return (oracle::matrix(a) - b).norm() / (b.norm() + 1e-300);
}

}  // namespace

TEST_CASE("the field is the same by eq. 8, by autograd through attention and by the formula") {
  for (const std::int64_t D : {1, 3, 33}) {
    CAPTURE(D);
    const Tensor q = points(40, D, 0) / std::sqrt(D), k = points(70, D, 1) / std::sqrt(D), w = points(70, 1, 2);
    const auto s = oracle::gauss_sum(q, k, w, 1.5);
    const auto g = oracle::gradient(q, k, w, 1.5);
    const Kernel kernel({.tau = 1.5});
    for (const Gradient route : {Gradient::eq8, Gradient::autograd}) {
      const ValueAndGradient f = kernel.field(q, k, w.squeeze(1), route);
      CHECK(distance(f.value.unsqueeze(1), s.s) < 1e-13);
      CHECK(distance(f.gradient, g) < 1e-13);
    }
  }
}

TEST_CASE("autograd is refused where it would not run through attention") {
  const Tensor x = points(5, 2, 0);
  CHECK_THROWS_AS(Kernel({.reduction = Reduction::reference}).field(x, x, x.select(1, 0), Gradient::autograd),
                  UnsupportedError);
}

TEST_CASE("the Stein direction is the double loop") {
  const Tensor q = points(30, 4, 0), x = points(50, 4, 1), score = points(50, 4, 2);
  const Tensor a = at::softmax(points(50, 1, 3).squeeze(1), 0);
  CHECK(distance(Kernel({.tau = .3}).stein(q, x, score, a), oracle::stein(q, x, score, a, .3)) < 1e-14);
}

TEST_CASE("svg-01: one particle follows its score alone") {
  const Tensor x = tensor_from({3}, 1, 1);
  CHECK(Kernel({.tau = 2}).stein(x, x, -x, at::ones({1}, at::kDouble)).item<double>() == -3);
}

TEST_CASE("svg-02: equal particles get their common score for any bandwidth") {
  const Tensor x = at::full({8, 2}, 1.5, at::kDouble), a = at::full({8}, 0.125, at::kDouble);
  for (const double tau : {1e-6, 1.0, 1e6}) CHECK(at::equal(Kernel({.tau = tau}).stein(x, x, -x, a), -x));
}

TEST_CASE("svg-03, svg-04: drive and repulsion have the right sign and size") {
  const Tensor x = tensor_from({-1, 1}, 2, 1), a = at::full({2}, 0.5, at::kDouble);
  const double drive = (1 - 3 * std::exp(-2.0)) / 2, push = std::exp(-2.0);
  const Tensor gaussian = Kernel({.tau = 1}).stein(x, x, -x, a), flat = Kernel({.tau = 1}).stein(x, x, at::zeros_like(x), a);
  CHECK(gaussian[0].item<double>() == doctest::Approx(drive).epsilon(1e-14));
  CHECK(gaussian[1].item<double>() == doctest::Approx(-drive).epsilon(1e-14));
  CHECK(flat[0].item<double>() == doctest::Approx(-push).epsilon(1e-14));
  CHECK(flat[1].item<double>() == doctest::Approx(push).epsilon(1e-14));
}

TEST_CASE("svg-04b: the repulsion of a close pair survives, in offset data too") {
  for (const double offset : {0.0, 1e4}) {
    const Tensor x = tensor_from({0, 0, 0, 0, 0, 1e-4, 3, 0, 0}, 3, 3) + offset, a = at::full({3}, 1.0 / 3, at::kDouble);
    const Tensor phi = Kernel({.tau = 2}).stein(x, x, at::zeros_like(x), a);
    CHECK(phi[0][2].item<double>() == doctest::Approx(-6.6667e-5).epsilon(1e-4));
    CHECK(phi[1][2].item<double>() == doctest::Approx(6.6667e-5).epsilon(1e-4));
  }
}

TEST_CASE("offset data give the direction of centred data") {
  const Tensor x = points(60, 3, 0), score = points(60, 3, 1), a = at::full({60}, 1.0 / 60, at::kDouble);
  const Tensor near = Kernel({.tau = .5}).stein(x, x, score, a);
  CHECK((Kernel({.tau = .5}).stein(x + 1e6, x + 1e6, score, a) - near).norm().item<double>() <
        1e-8 * near.norm().item<double>());
}

TEST_CASE("the repulsions of a weighted cloud sum to zero") {
  const Tensor x = points(80, 5, 0), a = at::softmax(points(80, 1, 1).squeeze(1), 0);
  const Tensor phi = Kernel({.tau = 1}).stein(x, x, at::zeros_like(x), a);
  CHECK((a.unsqueeze(1) * phi).sum(0).abs().max().item<double>() < 1e-16);
}
