#include "gaussflow/flow/precision.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace gaussflow;

TEST_CASE("the spacing is the distance to the next number of the type") {
  for (const double at : {1e-30, 0.3, 1.0, 1.999, 2.0, 1e6, 16777216.0, 1e9, 1e30}) {
    CAPTURE(at);
    const Moments moments{tensor_from({at}), tensor_from({at * 1e-20})};
    const auto narrow = static_cast<float>(at);
    CHECK(coarsest_grid(moments, at::kFloat)->spacing ==
          static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity())) - narrow);
    CHECK(coarsest_grid(moments, at::kDouble)->spacing == std::nextafter(at, INFINITY) - at);
  }
}

TEST_CASE("the coarsest coordinate is found, those without spread do not count") {
  const auto grid = coarsest_grid({tensor_from({0, 1e9, -1e6, 5}), tensor_from({1, 0, 1, INFINITY})}, at::kFloat);
  REQUIRE(grid);
  CHECK(grid->coordinate == 2);
  CHECK(grid->share() == doctest::Approx(0.0625));
  CHECK_FALSE(coarsest_grid({tensor_from({3}), tensor_from({0})}, at::kFloat));
}
