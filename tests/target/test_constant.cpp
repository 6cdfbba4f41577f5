#include "gaussflow/target/constant.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace gaussflow;

TEST_CASE("a constant is converted once per dtype and keeps its fp64 value") {
  const Constant c(tensor_from({0.1, 0.2}));
  const Tensor x = at::zeros({1}, at::kFloat);
  CHECK((c.like(x).scalar_type() == at::kFloat));
  CHECK(c.like(x).is_same(c.like(x)));
  const Constant copy = c;
  CHECK(copy.like(x).is_same(c.like(x)));
  CHECK(c.in(at::kDouble).is_same(c.fp64()));
  CHECK(c.fp64()[0].item<double>() == 0.1);
  CHECK(c.in(at::kFloat).is_same(c.like(x)));
}
