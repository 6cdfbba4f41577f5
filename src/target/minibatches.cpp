#include "gaussflow/target/minibatches.hpp"

#include "gaussflow/core/text.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

namespace gaussflow {

namespace {

/// The draw that is common to a step's epoch.
Draw epoch_of(const Draw& draw, std::int64_t per_epoch) {
  return {draw.seed, draw.stream, draw.step / static_cast<std::uint64_t>(per_epoch)};
}

bool same(const std::optional<Draw>& a, const Draw& b) {
  return a && a->seed == b.seed && a->stream == b.stream && a->step == b.step;
}

}  // namespace

struct Minibatches::Epoch {
  std::mutex mutex;
  std::optional<Draw> draw;
  std::vector<std::int64_t> order;
};

Minibatches::Minibatches(std::int64_t n, std::int64_t batch) : n_(n), batch_(batch), epoch_(std::make_shared<Epoch>()) {}

std::vector<std::int64_t> Minibatches::at(const Draw& draw) const {
  if (batch_ >= n_) return minibatch(draw, n_, batch_);
  const std::int64_t per_epoch = (n_ + batch_ - 1) / batch_;
  const Draw wanted = epoch_of(draw, per_epoch);
  const std::int64_t first = static_cast<std::int64_t>(draw.step) % per_epoch * batch_;
  const std::lock_guard lock(epoch_->mutex);
  if (!same(epoch_->draw, wanted)) {
    epoch_->order = permutation(wanted, n_);
    epoch_->draw = wanted;
  }
  return {epoch_->order.begin() + first, epoch_->order.begin() + std::min(n_, first + batch_)};
}

std::string batch_note(std::int64_t batch, std::int64_t rows, const std::string& key) {
  if (batch <= rows) return "";
  return fmt::format("{} = {} has no effect: the data have {}, and every step sees all of them", key, batch,
                     counted(rows, "row"));
}

struct WeightedMinibatches::Epoch {
  std::mutex mutex;
  std::optional<Draw> draw;
  std::vector<std::int64_t> order;
  std::vector<double> cumulative;  ///< of the weights in that order, ends at 1
  double start = 0;                ///< the epoch's random offset
};

WeightedMinibatches::WeightedMinibatches(std::vector<double> weights, std::int64_t batch)
    : weights_(std::move(weights)), batch_(batch), epoch_(std::make_shared<Epoch>()) {}

std::vector<std::int64_t> WeightedMinibatches::at(const Draw& draw) const {
  const auto n = static_cast<std::int64_t>(weights_.size());
  const std::int64_t per_epoch = (n + batch_ - 1) / batch_;
  const Draw wanted = epoch_of(draw, per_epoch);
  const std::lock_guard lock(epoch_->mutex);
  Epoch& epoch = *epoch_;
  if (!same(epoch.draw, wanted)) {
    epoch.order = permutation(wanted, n);
    epoch.cumulative.resize(epoch.order.size());
    double sum = 0;
    for (std::size_t i = 0; i < epoch.order.size(); ++i) epoch.cumulative[i] = sum += weights_[epoch.order[i]];
    for (double& c : epoch.cumulative) c /= sum;
    epoch.start = uniform({wanted.seed, wanted.stream, ~wanted.step}, 1, 1).item<double>();
    epoch.draw = wanted;
  }
  // Offsets of an epoch's steps interleave to one grid; each of them alone is uniform in (0, 1).
  double whole = 0;
  const auto within = static_cast<double>(draw.step % static_cast<std::uint64_t>(per_epoch));
  const double offset = std::modf(epoch.start + within / static_cast<double>(per_epoch), &whole);
  std::vector<std::int64_t> chosen;
  std::size_t at = 0;
  for (std::int64_t i = 0; i < batch_; ++i) {
    const double position = (static_cast<double>(i) + offset) / static_cast<double>(batch_);
    while (at + 1 < epoch.cumulative.size() && epoch.cumulative[at] <= position) ++at;
    chosen.push_back(epoch.order[at]);
  }
  return chosen;
}

}  // namespace gaussflow
