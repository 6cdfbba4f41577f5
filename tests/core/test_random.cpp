#include "gaussflow/core/random.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using namespace gaussflow;

TEST_CASE("a row does not depend on how many rows are drawn") {
  const Draw draw{7, Stream::noise, 3};
  CHECK(at::equal(normal(draw, 100, 3).slice(0, 0, 10), normal(draw, 10, 3)));
  CHECK(at::equal(uniform(draw, 100, 5).slice(0, 0, 10), uniform(draw, 10, 5)));
}

TEST_CASE("seeds, streams and steps give unrelated numbers, not shifted copies") {
  const Tensor base = normal({42, Stream::noise, 0}, 200, 2);
  for (const Draw& other : {Draw{43, Stream::noise, 0}, Draw{42, Stream::start, 0}, Draw{42, Stream::noise, 1}}) {
    const Tensor drawn = normal(other, 200, 2);
    for (std::int64_t shift = 0; shift < 50; ++shift)
      CHECK_FALSE(at::allclose(base.slice(0, shift, 150 + shift), drawn.slice(0, 0, 150), 1e-3, 1e-3));
  }
}

TEST_CASE("normals have the moments of N(0,1) and correlate with nothing") {
  const Tensor x = normal({1, Stream::start, 0}, 100000, 3);
  CHECK(x.mean(0).abs().max().item<double>() < 0.015);              // 4.7 standard errors
  CHECK((x.var(0) - 1).abs().max().item<double>() < 0.02);          // 4.5 standard errors
  CHECK((x.pow(4).mean(0) - 3).abs().max().item<double>() < 0.15);  // 4.8 standard errors
  CHECK(std::abs((x.select(1, 0) * x.select(1, 1)).mean().item<double>()) < 0.015);
}

TEST_CASE("minibatches visit every index once an epoch, in another order each epoch") {
  const auto epoch = [](std::uint64_t first) {
    std::vector<std::int64_t> all;
    for (std::uint64_t s = 0; s < 4; ++s) {
      const auto batch = minibatch({1, Stream::batch, first + s}, 10, 3);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    return all;
  };
  std::vector<std::int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  auto a = epoch(0), b = epoch(4);
  CHECK(a != b);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  CHECK(a == expected);
  CHECK(b == expected);
}

TEST_CASE("a subsample is sorted, distinct and of the size asked for") {
  const auto chosen = subsample({1, Stream::subsample, 0}, 5000, 1500);
  CHECK(chosen.size() == 1500);
  CHECK(std::adjacent_find(chosen.begin(), chosen.end(), std::greater_equal<>()) == chosen.end());
  CHECK(subsample({1, Stream::subsample, 0}, 5, 9).size() == 5);
}
