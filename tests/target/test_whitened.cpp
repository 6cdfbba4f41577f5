#include "gaussflow/target/whitened.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <limits>

using namespace gaussflow;
using namespace gaussflow::testing;

TEST_CASE("in rescaled coordinates the score is still the gradient of log p") {
  const auto inner = make_target("funnel");
  const WhitenedTarget whitened(*inner, tensor_from({3, .1, 1, 2, 5, 1, 1, .5, 10, 1}));
  const Tensor y = normal({1, Stream::data, 0}, 20, 10);
  CHECK(relative_error(whitened.density(y, {}).score, difference_score(whitened, y, 1e-4)) < 1e-9);
  CHECK((whitened.density(y.to(at::kFloat), {}).score.scalar_type() == at::kFloat));
}

TEST_CASE("samples and moments are divided by the scale; names, record and the user's scale stay") {
  const auto inner = make_target("{samples: ../../data/two_moons.h5:/x}");
  const Tensor scale = tensor_from({2, 0.25});
  const WhitenedTarget whitened(*inner, scale);
  CHECK(at::allclose(whitened.all_samples(at::kDouble).points * scale, inner->all_samples(at::kDouble).points, 1e-15));
  CHECK(at::equal(whitened.samples({}, at::kFloat).weights, inner->samples({}, at::kFloat).weights));
  CHECK(at::allclose(whitened.moments()->sd * scale, inner->moments()->sd, 1e-15));
  CHECK(at::equal(whitened.reference()->mean, inner->reference()->mean));
  CHECK(whitened.record() == inner->record());
  const Tensor y = at::ones({3, 2}, at::kDouble);
  CHECK(at::equal(whitened.constrain(y), y * scale));
}

TEST_CASE("a scale that cannot be is refused with the coordinate's name") {
  const auto inner = make_target("{flat: 2}");
  CHECK_THROWS_AS(WhitenedTarget(*inner, at::ones({3})), ShapeError);
  CHECK_THROWS_WITH_AS(WhitenedTarget(*inner, tensor_from({1, 0})), doctest::Contains("x2"), NumericalError);
  CHECK_THROWS_AS(WhitenedTarget(*inner, tensor_from({1, std::numeric_limits<double>::infinity()})), NumericalError);
}
