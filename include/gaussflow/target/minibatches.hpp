#pragma once
/// Which rows of the data a step sees.

#include "gaussflow/core/random.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gaussflow {

/// Epochs of minibatches: each visits 0..n-1 once in a fresh random order, the last batch may be short. The same indices as
/// `minibatch`, with the epoch's order remembered between steps.
class Minibatches {
 public:
  /// Range  n >= 1, batch >= 1; batch >= n means all rows in every step.
  Minibatches(std::int64_t n, std::int64_t batch);

  /// By draw.seed, draw.stream and draw.step. Safe to call from several threads.
  std::vector<std::int64_t> at(const Draw& draw) const;

 private:
  struct Epoch;
  std::int64_t n_;
  std::int64_t batch_;
  std::shared_ptr<Epoch> epoch_;
};

/// What to tell of a batch that holds all the rows and more; empty of a smaller one.
std::string batch_note(std::int64_t batch, std::int64_t rows, const std::string& key);

/// Minibatches of a weighted cloud by systematic resampling: a batch has exactly `batch` indices of equal weight, index j is
/// in it batch · w_j times on average over the draws, and over an epoch of ceil(n / batch) steps as evenly as integers
/// allow. A self-normalised batch of the cloud would be biased.
///
/// Range  weights >= 0 with sum 1, 1 <= batch.
class WeightedMinibatches {
 public:
  WeightedMinibatches(std::vector<double> weights, std::int64_t batch);
  std::vector<std::int64_t> at(const Draw& draw) const;

 private:
  struct Epoch;
  std::vector<double> weights_;
  std::int64_t batch_;
  std::shared_ptr<Epoch> epoch_;
};

}  // namespace gaussflow
