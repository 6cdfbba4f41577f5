#include "gaussflow/core/random.hpp"

#include <ATen/ATen.h>
#include <ATen/core/PhiloxRNGEngine.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace gaussflow {

namespace {

/// One step of splitmix64: spreads the bits of seed, stream and step over the Philox key.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

std::uint64_t key(const Draw& draw) {
  return mix(mix(mix(draw.seed) ^ static_cast<std::uint64_t>(draw.stream)) ^ draw.step);
}

std::uint64_t next64(at::Philox4_32& engine) {
  const std::uint64_t high = engine();
  return high << 32 | engine();
}

/// 53 random bits, never 0 or 1.
double unit(at::Philox4_32& engine) { return (static_cast<double>(next64(engine) >> 11) + 0.5) * 0x1p-53; }

}  // namespace

Tensor uniform(const Draw& draw, std::int64_t rows, std::int64_t cols) {
  Tensor result = at::empty({rows, cols}, at::kDouble);
  double* out = result.data_ptr<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    at::Philox4_32 engine(key(draw), static_cast<std::uint64_t>(r), 0);
    for (std::int64_t c = 0; c < cols; ++c) *out++ = unit(engine);
  }
  return result;
}

Tensor normal(const Draw& draw, std::int64_t rows, std::int64_t cols) {
  Tensor result = at::empty({rows, cols}, at::kDouble);
  double* out = result.data_ptr<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    at::Philox4_32 engine(key(draw), static_cast<std::uint64_t>(r), 0);
    for (std::int64_t c = 0; c < cols; c += 2) {  // Box-Muller
      const double radius = std::sqrt(-2 * std::log(unit(engine)));
      const double angle = 2 * std::numbers::pi * unit(engine);
      *out++ = radius * std::cos(angle);
      if (c + 1 < cols) *out++ = radius * std::sin(angle);
    }
  }
  return result;
}

std::uint64_t hash(const Draw& draw, std::uint64_t index) {
  at::Philox4_32 engine(key(draw), index, 0);
  return next64(engine);
}

std::vector<std::int64_t> permutation(const Draw& draw, std::int64_t n) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = n - 1; i > 0; --i) {
    const auto j = static_cast<std::int64_t>(hash(draw, static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(i + 1));
    std::swap(order[i], order[j]);
  }
  return order;
}

std::vector<std::int64_t> subsample(const Draw& draw, std::int64_t n, std::int64_t count) {
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(n));
  std::iota(chosen.begin(), chosen.end(), 0);
  if (count >= n) return chosen;
  std::vector<std::uint64_t> keys(chosen.size());
  for (std::int64_t i = 0; i < n; ++i) keys[i] = hash(draw, static_cast<std::uint64_t>(i));
  std::nth_element(chosen.begin(), chosen.begin() + count, chosen.end(),
                   [&](std::int64_t a, std::int64_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  chosen.resize(static_cast<std::size_t>(count));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::int64_t> minibatch(const Draw& draw, std::int64_t n, std::int64_t batch) {
  if (batch >= n) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t per_epoch = (n + batch - 1) / batch;
  const auto step = static_cast<std::int64_t>(draw.step);
  Draw epoch = draw;
  epoch.step = static_cast<std::uint64_t>(step / per_epoch);
  const std::vector<std::int64_t> order = permutation(epoch, n);
  const std::int64_t first = step % per_epoch * batch;
  return {order.begin() + first, order.begin() + std::min(n, first + batch)};
}

}  // namespace gaussflow
