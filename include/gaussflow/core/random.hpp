#pragma once
/// Random numbers as a pure function of (seed, stream, step, row, column): Philox 4x32-10 (Salmon et al. 2011).
/// There is no generator state, so nothing to save and nothing that depends on the order of calls or on threads.

#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <vector>

namespace gaussflow {

/// What a number is drawn for; streams never overlap.
enum class Stream : std::uint64_t { start = 1, noise = 2, batch = 3, subsample = 4, perturbation = 5, data = 6 };

/// Where in the random field a draw sits.
struct Draw {
  std::uint64_t seed = 0;
  Stream stream = Stream::start;
  std::uint64_t step = 0;
};

/// Independent N(0,1), fp64 [rows, cols]. Row r is the same for any number of rows.
Tensor normal(const Draw& draw, std::int64_t rows, std::int64_t cols);

/// Independent U(0,1), strictly inside, fp64 [rows, cols]. Row r is the same for any number of rows.
Tensor uniform(const Draw& draw, std::int64_t rows, std::int64_t cols);

/// A 64-bit hash of (draw, index).
std::uint64_t hash(const Draw& draw, std::uint64_t index);

/// A uniformly random permutation of 0..n-1 (Fisher-Yates).
std::vector<std::int64_t> permutation(const Draw& draw, std::int64_t n);

/// The `count` of n indices with the smallest hash, in increasing order; all of them when count >= n.
std::vector<std::int64_t> subsample(const Draw& draw, std::int64_t n, std::int64_t count);

/// Minibatch `step` of epochs that each visit 0..n-1 once in a fresh random order; the last batch of an epoch may be
/// short. Range 1 <= batch; batch >= n gives all indices in order.
std::vector<std::int64_t> minibatch(const Draw& draw, std::int64_t n, std::int64_t batch);

}  // namespace gaussflow
