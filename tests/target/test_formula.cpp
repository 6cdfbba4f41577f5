#include "gaussflow/core/text.hpp"
#include "gaussflow/target/formula.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;
using namespace gaussflow::testing;

namespace {

const char* const gmm3 =
    "{mixture: {weights: [.5, .3, .2], means: [[-2, 0], [2, 1], [0, 3]], "
    "covs: [[[.5, 0], [0, .5]], [[.4, .2], [.2, .4]], [[.3, 0], [0, .6]]]}}";

/// Every density of a formula, with log p and the first score at (.5, …, .5) as an independent fp64 program gives them.
struct Golden {
  const char* yaml;
  std::int64_t dim;
  double log_prob;
  double score;
};

const std::vector<Golden> golden{
    {"{gaussian: {mean: [1, -2], cov: [[1, 0], [0, 4]]}}", 2, -3.43727424697, 0.5},
    {"{gaussian: {mean: [1, -2], sd: [1, 2]}}", 2, -3.43727424697, 0.5},
    {"{ar1: {dim: 10, rho: 0.9}}", 10, -1.90030542767, -0.263157894737},
    {gmm3, 2, -4.83226053794, 3.69332417123},
    {"banana", 2, -10.2404902844, 0.099775},
    {"rosenbrock", 2, -2.16287706641, 2.55},
    {"funnel", 10, -13.2342335018, -3.87320856338},
    {"student_t", 2, -2.17146269572, -0.636363636364},
    {"ring", 2, -20.8946609407, 22.8553390593},
    {"squiggle", 2, -3.01289530809, 8.87919224252},
    {"eight_schools", 10, -4.18203010923, 0.36365828868},
    {"{flat: 3}", 3, 0, 0},
    {"{quartic: 2}", 2, -0.03125, -0.125},
    {"{laplace: 2}", 2, -0.70710678118655, -0.70710678118655},
};

/// Points with coordinates that fp32 holds exactly.
Tensor points(std::int64_t dim) { return (normal({1, Stream::data, 0}, 40, dim) * 1.3).to(at::kFloat).to(at::kDouble); }

}  // namespace

TEST_CASE("log p and score agree with an independent program") {
  for (const Golden& g : golden) {
    CAPTURE(g.yaml);
    const auto target = make_target(g.yaml);
    REQUIRE(target->dim() == g.dim);
    const Density d = target->density(at::full({2, g.dim}, 0.5, at::kDouble), {});
    CHECK(d.log_prob[1].item<double>() == doctest::Approx(g.log_prob).epsilon(1e-11));
    CHECK(d.score[1][0].item<double>() == doctest::Approx(g.score).epsilon(1e-11));
  }
}

TEST_CASE("the score is the gradient of log p") {
  for (const Golden& g : golden) {
    CAPTURE(g.yaml);
    const auto target = make_target(g.yaml);
    const Tensor x = points(g.dim);
    // Truncation h⁴ f⁽⁵⁾/30 ≈ 1e-12 for the stiffest (squiggle, f⁽⁵⁾ ≈ 5⁵·15), rounding eps |f| / h ≈ 1e-10.
    CHECK(relative_error(target->density(x, {}).score, difference_score(*target, x)) < 2e-10);
  }
}

TEST_CASE("fp32 particles give fp32 results close to fp64 ones") {
  for (const Golden& g : golden) {
    CAPTURE(g.yaml);
    const auto target = make_target(g.yaml);
    const Tensor x = points(g.dim);
    const Density exact = target->density(x, {}), single = target->density(x.to(at::kFloat), {});
    CHECK((single.log_prob.scalar_type() == at::kFloat));
    CHECK((single.score.scalar_type() == at::kFloat));
    CHECK(relative_error(single.log_prob, exact.log_prob) < 2e-6);
    CHECK(relative_error(single.score, exact.score) < 2e-6);
  }
}

TEST_CASE("densities do not depend on the number of threads, and leave the particles alone") {
  for (const Golden& g : golden) {
    CAPTURE(g.yaml);
    const auto target = make_target(g.yaml);
    const Tensor x = normal({2, Stream::data, 0}, 3001, g.dim).to(at::kFloat), before = x.clone();
    CHECK(independent_of_threads(*target, x));
    CHECK(at::equal(x, before));
  }
}

TEST_CASE("particles of another dimension are refused with both numbers") {
  for (const Golden& g : golden)
    CHECK_THROWS_WITH_AS(make_target(g.yaml)->density(at::zeros({4, g.dim + 1}), {}),
                         doctest::Contains(("dimension " + std::to_string(g.dim)).c_str()), ShapeError);
}

TEST_CASE("cones have a finite score at their tip, and next to it") {
  for (const char* yaml : {"{laplace: 3}", "{laplace: 1}", "ring"}) {
    CAPTURE(yaml);
    const auto target = make_target(yaml);
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      const Tensor tip = at::zeros({1, target->dim()}, dtype);
      CHECK(at::equal(target->density(tip, {}).score, tip));
      CHECK(at::isfinite(target->density(tip, {}).log_prob).all().item<bool>());
      CHECK(at::isfinite(target->density(tip + 1e-30, {}).score).all().item<bool>());
    }
  }
  const Density near = make_target("{laplace: 2}")->density(tensor_from({3e-200, 4e-200, 3e200, 4e200}, 2, 2), {});
  CHECK(at::allclose(near.score, tensor_from({-.6, -.8, -.6, -.8}, 2, 2), 1e-14, 0));
  CHECK(near.log_prob[1].item<double>() == doctest::Approx(-5e200));
}

TEST_CASE("densities stay finite far out, where exponentials overflow") {
  const auto finite = [](const char* yaml, const std::vector<double>& x) {
    const Density d = make_target(yaml)->density(tensor_from(x, 1, static_cast<std::int64_t>(x.size())).to(at::kFloat), {});
    return at::isfinite(d.log_prob).all().item<bool>() && at::isfinite(d.score).all().item<bool>();
  };
  CHECK(finite(gmm3, {1e4, -1e4}));
  CHECK(finite("student_t", {1e15, -1e15}));
  CHECK(finite("{funnel: 3}", {-100, 1e-20, 1e-25}));
  CHECK(finite("{funnel: 3}", {200, 1e6, -1e6}));
  CHECK(finite("eight_schools", {0, -200, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST_CASE("ar1 is the normal law with covariance rho^|i-j|") {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += i ? ", [" : "[";
    for (int j = 0; j < 10; ++j) text += (j ? ", " : "") + number_text(std::pow(0.9, std::abs(i - j)));
    text += "]";
  }
  const auto dense = make_target("{gaussian: {cov: [" + text + "]}}");
  const Tensor x = points(10);
  CHECK(relative_error(make_target("ar1")->density(x, {}).log_prob, dense->density(x, {}).log_prob) < 1e-13);
  CHECK(relative_error(make_target("ar1")->density(x, {}).score, dense->density(x, {}).score) < 1e-13);
}

TEST_CASE("configs that make no law are refused at the key") {
  CHECK(failure("gaussian").find("to know its dimension") != std::string::npos);
  CHECK(failure("{gaussian: {mean: [1, 2], sd: [1]}}").find("sd has 1 numbers, not 2") != std::string::npos);
  CHECK(failure("{gaussian: {sd: [1, 2], cov: [[1, 0], [0, 1]]}}").find("give one of them") != std::string::npos);
  CHECK(failure("{gaussian: {cov: [[1, 2], [2, 1]]}}").find("not positive definite: coordinate 2") != std::string::npos);
  CHECK(failure("{gaussian: {cov: [[1, .5], [.4, 1]]}}").find("not symmetric") != std::string::npos);
  CHECK(failure("{gaussian: {mean: [1, 2], cov: [[1, 0]]}}").find("cov has 1 rows where there are 2") != std::string::npos);
  CHECK(failure("{mixture: {means: [[0, 0], [1]]}}").find("same number of coordinates") != std::string::npos);
  CHECK(failure("{mixture: {means: [[0, 0], [1, 1]], weights: [1]}}").find("weights has 1 entries for 2 means") !=
        std::string::npos);
  CHECK(failure("{mixture: {means: [[0, 0]], covs: [[[1, 2], [2, 1]]]}}").find("covs entry 1 is not positive") !=
        std::string::npos);
  CHECK(failure("{mixture: {weights: [1]}}").find("means") != std::string::npos);
  CHECK(failure("{funnel: {dim: 1}}").find("dim") != std::string::npos);
  CHECK(failure("{ar1: {rho: 1}}").find("rho") != std::string::npos);
}
