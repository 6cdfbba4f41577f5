/// Moments that targets claim to be exact, against quadrature of their own densities.

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace gaussflow;
using namespace gaussflow::testing;

namespace {

/// A trapezoid rule on a box of R², pushed forward by `map` with Jacobian exp(log_jacobian).
struct Grid {
  double low[2], high[2];
  std::int64_t nodes[2];
  std::function<Tensor(const Tensor&)> map = [](const Tensor& u) { return u; };
  std::function<Tensor(const Tensor&)> log_jacobian = [](const Tensor& u) { return at::zeros({u.size(0)}, at::kDouble); };
};

struct Integral {
  double mass;
  Moments moments;
};

Integral integrate(const Target& target, const Grid& grid) {
  const auto axis = [&](int d) { return at::linspace(grid.low[d], grid.high[d], grid.nodes[d], at::kDouble); };
  const std::vector<Tensor> mesh = at::meshgrid({axis(0), axis(1)}, "ij");
  const Tensor u = at::stack({mesh[0].flatten(), mesh[1].flatten()}, 1), x = grid.map(u);
  const Tensor log_p = target.density(x, {}).log_prob + grid.log_jacobian(u);
  const Tensor p = at::softmax(log_p, 0);
  const Tensor mean = at::mv(x.t(), p);
  double cell = 1;
  for (int d = 0; d < 2; ++d) cell *= (grid.high[d] - grid.low[d]) / static_cast<double>(grid.nodes[d] - 1);
  return {at::logsumexp(log_p, 0).exp().item<double>() * cell, {mean, at::mv((x - mean).square().t(), p).sqrt()}};
}

void check_moments(const Moments& claimed, const Moments& found, double tolerance) {
  CHECK(relative_error(claimed.mean, found.mean) < tolerance);
  CHECK(relative_error(claimed.sd, found.sd) < tolerance);
}

}  // namespace

TEST_CASE("planar laws have the moments they claim, and mass 1 where they are normalised") {
  struct Case {
    const char* yaml;
    Grid grid;
    bool normalised;
  };
  const std::vector<Case> cases{
      {"{gaussian: {mean: [1, -2], cov: [[1, 0.7], [0.7, 4]]}}", {{-9, -22}, {11, 18}, {201, 201}}, true},
      {"{mixture: {weights: [.5, .3, .2], means: [[-2, 0], [2, 1], [0, 3]], sds: [[.7, .7], [.6, .5], [.5, .8]]}}",
       {{-9, -8}, {9, 11}, {401, 401}},
       true},
      {"banana", {{-80, -20}, {80, 210}, {321, 921}}, true},
      {"{banana: {a: 2, b: 0.5}}", {{-16, -14}, {16, 140}, {321, 617}}, true},
      {"rosenbrock", {{-25, -3}, {27, 735}, {105, 7381}}, true},
      {"squiggle", {{-12, -9}, {12, 9}, {601, 301}}, true},
      {"{squiggle: 1.5}", {{-12, -9}, {12, 9}, {601, 301}}, true},
      {"ring", {{-4, -4}, {4, 4}, {401, 401}}, false},
      {"{quartic: 2}", {{-7, -7}, {7, 7}, {281, 281}}, false},
  };
  for (const Case& c : cases) {
    CAPTURE(c.yaml);
    const auto target = make_target(c.yaml);
    const Integral found = integrate(*target, c.grid);
    if (c.normalised) CHECK(found.mass == doctest::Approx(1).epsilon(1e-9));
    check_moments(*target->moments(), found.moments, 1e-8);
  }
}

TEST_CASE("laws with power-law and exponential tails have the moments they claim") {
  // Polar coordinates with r = e^u: the tails of student_t fall like r^-nu in the second moment.
  const Grid polar{{-30, 0},
                   {20, 2 * std::acos(-1.0) * 15 / 16},
                   {4001, 16},
                   [](const Tensor& u) {
                     const Tensor r = u.select(1, 0).exp(), angle = u.select(1, 1);
                     return at::stack({r * at::cos(angle), r * at::sin(angle)}, 1);
                   },
                   [](const Tensor& u) { return 2 * u.select(1, 0); }};
  for (const char* yaml : {"student_t", "{student_t: {nu: 3.5}}", "{laplace: 2}", "{ring: {radius: 1, sd: 1}}"}) {
    CAPTURE(yaml);
    const auto target = make_target(yaml);
    check_moments(*target->moments(), integrate(*target, polar).moments, 1e-9);
  }
  CHECK(integrate(*make_target("student_t"), polar).mass == doctest::Approx(1).epsilon(1e-9));
  CHECK_FALSE(make_target("{student_t: 2}")->moments());
}

TEST_CASE("the funnel has the moments it claims") {
  // x2 = z e^{v/2} makes both coordinates normal.
  const Grid grid{{-36, -10},
                  {36, 10},
                  {721, 201},
                  [](const Tensor& u) {
                    return at::stack({u.select(1, 0), u.select(1, 1) * at::exp(u.select(1, 0) / 2)}, 1);
                  },
                  [](const Tensor& u) { return u.select(1, 0) / 2; }};
  const auto target = make_target("{funnel: 2}");
  const Integral found = integrate(*target, grid);
  CHECK(found.mass == doctest::Approx(1).epsilon(1e-9));
  check_moments(*target->moments(), found.moments, 1e-8);
}

TEST_CASE("moments of the benchmark laws as the literature has them") {
  const auto variance = [](const char* yaml) { return to_vector(make_target(yaml)->moments()->sd.square()); };
  CHECK(variance("banana")[1] == doctest::Approx(19).epsilon(1e-12));
  CHECK(variance("rosenbrock")[1] == doctest::Approx(240.1).epsilon(1e-12));
  CHECK(variance("funnel")[9] == doctest::Approx(90.0171313005).epsilon(1e-11));
  CHECK(variance("ring")[0] == doctest::Approx(2.06).epsilon(1e-12));
  CHECK(variance("squiggle")[1] == doctest::Approx(0.999999999965).epsilon(1e-12));
  CHECK(variance("{laplace: 5}")[0] == doctest::Approx(6).epsilon(1e-12));
}

TEST_CASE("eight schools has the moments of an independent quadrature") {
  const auto target = make_target("eight_schools");
  const auto free = to_vector(target->moments()->mean), free_sd = to_vector(target->moments()->sd);
  CHECK(free[0] == doctest::Approx(4.39682071383).epsilon(1e-10));
  CHECK(free_sd[0] == doctest::Approx(3.31770446314).epsilon(1e-10));
  CHECK(free[1] == doctest::Approx(0.802139210854).epsilon(1e-9));
  CHECK(free_sd[1] == doctest::Approx(1.17122646494).epsilon(1e-9));
  const auto mean = to_vector(target->reference()->mean), sd = to_vector(target->reference()->sd);
  CHECK(mean[0] == doctest::Approx(4.39682071383).epsilon(1e-10));
  CHECK(mean[1] == doctest::Approx(3.59770548411).epsilon(1e-10));
  CHECK(sd[1] == doctest::Approx(3.21995841466).epsilon(1e-9));
  CHECK(mean[2] == doctest::Approx(6.21188420406).epsilon(1e-10));
  CHECK(sd[2] == doctest::Approx(5.59312619534).epsilon(1e-9));
  const std::vector<double> theta{6.2119, 4.9402, 3.9270, 4.7571, 3.6155, 4.0426, 6.2967, 4.8543};
  for (std::size_t j = 0; j < theta.size(); ++j) CHECK(mean[2 + j] == doctest::Approx(theta[j]).epsilon(1e-4));
  const Tensor x = at::full({1, 10}, 0.5, at::kDouble);
  CHECK(to_vector(target->constrain(x))[1] == doctest::Approx(std::exp(0.5)));
  CHECK(to_vector(target->constrain(x))[9] == doctest::Approx(0.5 + 0.5 * std::exp(0.5)));
}
