#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/bandwidth.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace gaussflow;

namespace {

const Draw draw{1, Stream::subsample, 0};

/// Every squared distance in order, by a sort.
std::vector<double> sorted_pairs(const Tensor& x) {
  std::vector<double> squares;
  const std::vector<double> v = to_vector(x);
  const auto n = static_cast<std::size_t>(x.size(0)), D = static_cast<std::size_t>(x.size(1));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      double sum = 0;
      for (std::size_t d = 0; d < D; ++d) sum += std::pow(v[i * D + d] - v[j * D + d], 2);
      squares.push_back(sum);
    }
  std::sort(squares.begin(), squares.end());
  return squares;
}

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

}  // namespace

TEST_CASE("the pair median is the middle of the sorted pairs, or the mean of the two middle ones") {
  for (const std::int64_t n : {2, 3, 4, 5, 6, 33, 100}) {
    const Tensor x = normal({2, Stream::data, static_cast<std::uint64_t>(n)}, n, 3);
    CHECK(median_squared_distance(x) == doctest::Approx(middle(sorted_pairs(x))).epsilon(1e-15));
  }
  CHECK(median_squared_distance(tensor_from({0, 1, 3}, 3, 1)) == 4);
  CHECK_THROWS_AS(median_squared_distance(tensor_from({1, 2}, 1, 2)), ShapeError);
}

TEST_CASE("beyond the pairs that are stored, the median is found by digits: the same number") {
  const Tensor x = normal({2, Stream::data, 0}, 4200, 2);
  CHECK(median_squared_distance(x) == doctest::Approx(middle(sorted_pairs(x))).epsilon(1e-15));
}

TEST_CASE("each rule is its formula") {
  const Tensor x = normal({4, Stream::data, 0}, 50, 2);
  std::vector<double> squares = sorted_pairs(x), distances, all(50, 0.0);
  for (const double s : squares) {
    distances.push_back(std::sqrt(s));
    all.insert(all.end(), 2, s);
  }
  std::sort(all.begin(), all.end());
  const auto tau = [&](BandwidthRule rule) { return *bandwidth_tau(rule, x, draw); };
  CHECK(tau(BandwidthRule::median) == doctest::Approx(1 / middle(squares)).epsilon(1e-14));
  CHECK(tau(BandwidthRule::liu_wang) == doctest::Approx(2 * std::log(50) / std::pow(middle(distances), 2)).epsilon(1e-14));
  CHECK(tau(BandwidthRule::liu_wang_n1) == doctest::Approx(2 * std::log(51) / middle(squares)).epsilon(1e-14));
  CHECK(tau(BandwidthRule::lw_code) == doctest::Approx(std::log(51) / (0.5 * middle(all))).epsilon(1e-14));
}

TEST_CASE("a cloud without a distance has no bandwidth") {
  for (const auto& [name, rule] : bandwidth_rule_names()) {
    CAPTURE(name);
    CHECK_FALSE(bandwidth_tau(rule, tensor_from({1, 2}, 1, 2), draw).has_value());
    CHECK_FALSE(bandwidth_tau(rule, at::full({8, 2}, 1.5, at::kDouble), draw).has_value());
  }
}

TEST_CASE("large clouds are thinned by hash: near the exact rule, and the same on every call") {
  const Tensor x = normal({4, Stream::data, 1}, 4000, 2);
  const double thinned = *bandwidth_tau(BandwidthRule::median, x, draw), exact = 1 / median_squared_distance(x);
  CHECK(thinned == doctest::Approx(exact).epsilon(0.05));
  CHECK(thinned == *bandwidth_tau(BandwidthRule::median, x, draw));
}
