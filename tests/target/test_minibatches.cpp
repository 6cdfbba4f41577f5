#include "gaussflow/target/minibatches.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace gaussflow;

TEST_CASE("the batches are those of core's minibatch, in any order of asking") {
  for (const std::int64_t batch : {1, 3, 10, 11, 40}) {
    const Minibatches batches(11, batch);
    for (const std::uint64_t step : {0, 5, 4, 1000, 3, 3, 12})
      for (const std::uint64_t seed : {1, 2}) {
        const Draw draw{seed, Stream::batch, step};
        CHECK(batches.at(draw) == minibatch(draw, 11, batch));
      }
  }
}

TEST_CASE("equal weights: an epoch visits every index once") {
  const WeightedMinibatches batches(std::vector<double>(12, 1.0 / 12), 4);
  for (std::uint64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<int> seen(12, 0);
    for (std::uint64_t s = 0; s < 3; ++s)
      for (const std::int64_t j : batches.at({1, Stream::batch, 3 * epoch + s})) ++seen[static_cast<std::size_t>(j)];
    CHECK(seen == std::vector<int>(12, 1));
  }
}

TEST_CASE("weighted batches hold each index in proportion to its weight, step by step") {
  const std::vector<double> weights{0.5, 0.25, 0.125, 0.0625, 0.0625, 0};
  const WeightedMinibatches batches(weights, 2);
  constexpr int epochs = 20000;
  for (std::uint64_t within = 0; within < 3; ++within) {
    std::vector<double> share(weights.size(), 0.0);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto chosen = batches.at({7, Stream::batch, 3 * epoch + within});
      REQUIRE(chosen.size() == 2);
      for (const std::int64_t j : chosen) share[static_cast<std::size_t>(j)] += 0.5 / epochs;
    }
    // At most sqrt(1/4 / 20000) = 0.0035 a standard error.
    for (std::size_t j = 0; j < weights.size(); ++j) CHECK(std::abs(share[j] - weights[j]) < 0.014);
    CHECK(share[5] == 0);
  }
}

TEST_CASE("over an epoch a weighted index appears as often as its weight asks, up to one") {
  const std::vector<double> weights{0.4, 0.3, 0.1, 0.1, 0.05, 0.05};
  const WeightedMinibatches batches(weights, 3);
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    std::vector<double> seen(weights.size(), 0.0);
    for (std::uint64_t s = 0; s < 2; ++s)
      for (const std::int64_t j : batches.at({3, Stream::batch, 2 * epoch + s})) seen[static_cast<std::size_t>(j)] += 1;
    for (std::size_t j = 0; j < weights.size(); ++j) CHECK(std::abs(seen[j] - 6 * weights[j]) < 1);
  }
}
