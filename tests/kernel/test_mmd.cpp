#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/kernel.hpp"
#include "gaussflow/kernel/mmd.hpp"

#include "kernel/oracle.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;

namespace {

Tensor line(const std::vector<double>& x) { return tensor_from(x, static_cast<std::int64_t>(x.size()), 1); }

/// −∇f at the particles, the velocity of the flow.
std::vector<double> velocity(const Tensor& x, const Tensor& y, double tau, const Tensor& a = {}, const Tensor& b = {}) {
  const SignedMeasure sigma = signed_measure(x, y, a, b);
  return to_vector(-Kernel({.tau = tau}).field(x, sigma.points, sigma.weights).gradient);
}

}  // namespace

TEST_CASE("two against three points, with and without weights") {
  const Tensor x = line({0, 1}), y = line({0, 1, 3}), a = tensor_from({.25, .75}), b = tensor_from({.5, .25, .25});
  CHECK(mmd_squared(x, y, {}, {}, {}) == doctest::Approx(0.184091227787).epsilon(1e-11));
  CHECK(*mmd_squared_unbiased(x, y, {}, {}, {}) == doctest::Approx(-0.262312893525).epsilon(1e-11));
  CHECK(mmd_squared(x, y, a, b, {}) == doctest::Approx(0.19092213883).epsilon(1e-10));
  CHECK(*mmd_squared_unbiased(x, y, a, b, {}) == doctest::Approx(-0.327200104169).epsilon(1e-11));
  const auto u = velocity(x, y, 1), w = velocity(x, y, 1, a, b);
  CHECK(u[0] == doctest::Approx(-0.0899794467472).epsilon(1e-11));
  CHECK(u[1] == doctest::Approx(0.191311965443).epsilon(1e-11));
  CHECK(w[0] == doctest::Approx(-0.294933582453).epsilon(1e-11));
  CHECK(w[1] == doctest::Approx(-0.0839650233099).epsilon(1e-11));
}

TEST_CASE("mmd-01: the same cloud in another order is at distance zero, never below") {
  const Tensor x = normal({3, Stream::data, 0}, 30, 2);
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const double value = mmd_squared(x.to(dtype), x.flip(0).to(dtype), {}, {}, {});
    CHECK(value >= 0);
    CHECK(value <= 1e-6);
    CHECK(std::isfinite(std::sqrt(value)));
  }
}

TEST_CASE("mmd-02: unequal sizes") {
  const Tensor x = line({0, 1}), y = line({0, 1, 2});
  CHECK(mmd_squared(x, y, {}, {}, {}) == doctest::Approx(.117933265).epsilon(1e-8));
  CHECK(*mmd_squared_unbiased(x, y, {}, {}, {}) == doctest::Approx(-.262312894).epsilon(1e-8));
  const auto u = velocity(x, y, 1);
  CHECK(u[0] == doctest::Approx(-.010864921).epsilon(1e-7));
  CHECK(u[1] == doctest::Approx(.30326533).epsilon(1e-7));
}

TEST_CASE("mmd-02b: the unbiased statistic of one point does not exist") {
  CHECK_FALSE(mmd_squared_unbiased(line({0}), line({0, 1, 2}), {}, {}, {}).has_value());
  CHECK_FALSE(mmd_squared_unbiased(line({0, 1}), line({0}), {}, {}, {}).has_value());
  CHECK_FALSE(mmd_squared_unbiased(line({0, 1}), line({0, 1}), tensor_from({1, 0}), {}, {}).has_value());
}

TEST_CASE("mmd-03, mmd-04, mmd-05: a pair, a far target and a saddle") {
  CHECK(mmd_squared(line({0}), line({1}), {}, {}, {}) == doctest::Approx(2 - 2 * std::exp(-.5)).epsilon(1e-14));
  CHECK(velocity(line({0}), line({1}), 1)[0] == doctest::Approx(std::exp(-.5)).epsilon(1e-14));
  CHECK(mmd_squared(line({0, .5}), line({100, 100.5}), {}, {}, {}) == doctest::Approx(1.8824969).epsilon(1e-8));
  const auto far = velocity(line({0, .5}), line({100, 100.5}), 1);
  CHECK(far[0] == doctest::Approx(-.220624226).epsilon(1e-8));
  CHECK(far[1] == doctest::Approx(.220624226).epsilon(1e-8));
  CHECK(mmd_squared(line({0}), line({-2, 2}), {}, {}, {}) == doctest::Approx(1.22949716).epsilon(1e-8));
  CHECK(velocity(line({0}), line({-2, 2}), 1)[0] == 0);
}

TEST_CASE("mmd-06: clouds of different dimensions are refused, both named") {
  const Tensor x = at::zeros({4, 2}, at::kDouble), y = at::zeros({25, 3}, at::kDouble);
  CHECK_THROWS_WITH_AS(mmd_squared(x, y, {}, {}, {}), "the clouds have dimensions 2 and 3: [4, 2] and [25, 3]", ShapeError);
  CHECK_THROWS_AS(energy_distance(x, y, {}, {}), ShapeError);
}

TEST_CASE("the sample statistic meets the population value of two Gaussians") {
  // (1+2τ)^{-D/2} + (1+2τs²)^{-D/2} − 2 (1+τ(1+s²))^{-D/2} exp(−τm²/(2(1+τ(1+s²)))) at D=2, m=1, s²=2.25, τ=1
  const Tensor x = normal({5, Stream::data, 0}, 4000, 2),
               y = normal({5, Stream::data, 1}, 4000, 2) * 1.5 + tensor_from({1, 0});
  CHECK(std::abs(*mmd_squared_unbiased(x, y, {}, {}, {}) - 0.0967939784914) < 3e-3);
}

TEST_CASE("the energy distance is the double sum of distances") {
  const Tensor x = normal({6, Stream::data, 0}, 1500, 3), y = normal({6, Stream::data, 1}, 1100, 3) + 0.3;
  const Tensor a = at::softmax(normal({6, Stream::data, 2}, 1500, 1).squeeze(1), 0),
               b = at::full({1100}, 1.0 / 1100, at::kDouble);
  const auto mean = [](const Tensor& p, const Tensor& w, const Tensor& r, const Tensor& u) {
    const auto P = oracle::matrix(p), R = oracle::matrix(r), W = oracle::matrix(w.unsqueeze(1)),
               U = oracle::matrix(u.unsqueeze(1));
    double sum = 0;
    for (Eigen::Index i = 0; i < P.rows(); ++i)
      for (Eigen::Index j = 0; j < R.rows(); ++j) sum += W(i, 0) * U(j, 0) * (P.row(i) - R.row(j)).norm();
    return sum;
  };
  CHECK(energy_distance(x, y, a, {}) ==
        doctest::Approx(2 * mean(x, a, y, b) - mean(x, a, x, a) - mean(y, b, y, b)).epsilon(1e-10));
  CHECK(energy_distance(x, x.flip(0), {}, {}) < 1e-12);
}

TEST_CASE("KSD² is the double sum of the Stein kernel") {
  const std::int64_t n = 40, D = 3;
  const double tau = .7;
  const Tensor x = normal({7, Stream::data, 0}, n, D), a = at::softmax(normal({7, Stream::data, 1}, n, 1).squeeze(1), 0);
  const Tensor score = -x + 0.1 * normal({7, Stream::data, 2}, n, D);
  const auto X = oracle::matrix(x), S = oracle::matrix(score), A = oracle::matrix(a.unsqueeze(1));
  double expected = 0;
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) {
      const Eigen::RowVectorXd r = X.row(i) - X.row(j);
      const double phi = std::exp(-tau / 2 * r.squaredNorm());
      // s·s' Φ + s·∇'Φ + s'·∇Φ + tr ∇∇'Φ
      const double u = phi * (S.row(i).dot(S.row(j)) + tau * S.row(i).dot(r) - tau * S.row(j).dot(r) + tau * D -
                              tau * tau * r.squaredNorm());
      expected += A(i, 0) * A(j, 0) * u;
    }
  CHECK(ksd_squared(x, score, a, {.tau = tau}) == doctest::Approx(expected).epsilon(1e-12));
  CHECK(ksd_squared(x + 1e6, score, a, {.tau = tau}) == doctest::Approx(expected).epsilon(1e-6));
}

TEST_CASE("the three forms are double sums, and give both statistics") {
  const double tau = .8;
  const Tensor x = normal({8, Stream::data, 0}, 300, 3), y = normal({8, Stream::data, 1}, 200, 3) + 0.2;
  const Tensor a = at::softmax(normal({8, Stream::data, 2}, 300, 1).squeeze(1), 0),
               b = at::softmax(normal({8, Stream::data, 3}, 200, 1).squeeze(1), 0);
  const auto form = [&](const Tensor& p, const Tensor& w, const Tensor& r, const Tensor& u) {
    return oracle::matrix(w.unsqueeze(0)).row(0).dot(oracle::gauss_sum(p, r, u.unsqueeze(1), tau).s.col(0));
  };
  const double xx = form(x, a, x, a), yy = form(y, b, y, b), xy = form(x, a, y, b);
  for (const auto dtype : {at::kFloat, at::kDouble}) {
    CAPTURE(dtype);
    const MmdForms forms = mmd_forms(x.to(dtype), y.to(dtype), a, b, {.tau = tau, .compute_dtype = at::kDouble});
    const double bound = dtype == at::kFloat ? 1e-7 : 1e-14;
    CHECK(std::abs(forms.xx - xx) < bound);
    CHECK(std::abs(forms.yy - yy) < bound);
    CHECK(std::abs(forms.xy - xy) < bound);
    CHECK(std::abs(forms.biased() - (xx + yy - 2 * xy)) < 3 * bound);
    CHECK(std::abs(*forms.unbiased() - *mmd_squared_unbiased(x, y, a, b, {.tau = tau})) < 3 * bound);
    const Tensor pull = oracle::tensor(oracle::gauss_sum(x, y, b.unsqueeze(1), tau).s).squeeze(1);
    CHECK(at::allclose(forms.pull, pull, 1e-6, 10 * bound));
  }
}

TEST_CASE("a value below its resolution is zero, one above it is right") {
  // The second cloud is the first, moved by h: MMD² → h² · (a second derivative of the forms) for small h.
  const Tensor x = normal({9, Stream::data, 0}, 500, 2);
  const auto at_shift = [&](double h) { return mmd_forms(x, x + h, {}, {}, {.tau = 0.5}); };
  const double curvature = at_shift(1e-3).biased() / 1e-6;
  CHECK(curvature > 0.01);
  for (const double h : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}) {
    CAPTURE(h);
    const MmdForms forms = at_shift(h);
    const double truth = curvature * h * h;
    CHECK(forms.resolution() < 1e-14);
    if (truth < forms.resolution() / 10)
      CHECK(forms.biased() == 0);
    else
      CHECK(std::abs(forms.biased() - truth) <= forms.resolution() + 1e-3 * truth);
  }
  for (int seed = 0; seed < 20; ++seed) {
    const Tensor cloud = normal({10, Stream::data, static_cast<std::uint64_t>(seed)}, 50 + 37 * seed, 1 + seed % 7);
    for (const double tau : {1e-12, 1e-8, 1e-4, 0.1, 1.0, 100.0})
      CHECK(mmd_forms(cloud, cloud.flip(0), {}, {}, {.tau = tau}).biased() == 0);
  }
}
