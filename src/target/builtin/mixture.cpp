#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/normal.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {
namespace {

struct Options {
  std::vector<double> weights;
  std::vector<std::vector<double>> means;
  std::vector<std::vector<double>> sds;
  std::vector<std::vector<std::vector<double>>> covs;
};

void check(const Options& o, const config::Node& node, config::Diagnostics& diagnostics) {
  if (o.means.empty()) return;  // `required` has said so
  const std::size_t k = o.means.size(), dim = o.means[0].size();
  const auto report = [&](const char* key, const std::string& what) {
    diagnostics.error(node.at(key), diagnostics.path(key) + " " + what);
  };
  const auto one_per_mean = [&](const char* key, std::size_t size) {
    if (size != 0 && size != k) report(key, fmt::format("has {} entries for {} means", size, k));
    return size == k;
  };
  for (const auto& mean : o.means)
    if (mean.size() != dim || dim == 0) return report("means", "must all have the same number of coordinates, at least one");
  one_per_mean("weights", o.weights.size());
  if (!o.sds.empty() && !o.covs.empty()) report("covs", "stands beside sds: give one of them");
  if (one_per_mean("sds", o.sds.size()))
    for (std::size_t i = 0; i < k; ++i)
      if (o.sds[i].size() != dim) report("sds", fmt::format("entry {} has {} numbers, not {}", i + 1, o.sds[i].size(), dim));
  if (one_per_mean("covs", o.covs.size()))
    for (std::size_t i = 0; i < k; ++i)
      if (const std::string fault = covariance_fault(o.covs[i], dim); !fault.empty())
        report("covs", fmt::format("entry {} {}", i + 1, fault));
}

class Mixture final : public Formula {
 public:
  explicit Mixture(const Options& o) : Formula("mixture", static_cast<std::int64_t>(o.means[0].size())) {
    double total = 0;
    for (std::size_t i = 0; i < o.means.size(); ++i) {
      if (!o.covs.empty())
        parts_.emplace_back(o.means[i], o.covs[i]);
      else
        parts_.emplace_back(o.means[i], o.sds.empty() ? std::vector<double>(o.means[i].size(), 1.0) : o.sds[i]);
      weights_.push_back(o.weights.empty() ? 1.0 : o.weights[i]);
      total += weights_.back();
    }
    for (double& w : weights_) w /= total;
  }

  std::optional<Moments> moments() const override {
    Tensor mean = at::zeros({dim()}, at::kDouble), variance = mean.clone();
    for (std::size_t i = 0; i < parts_.size(); ++i) mean += weights_[i] * parts_[i].mean();
    for (std::size_t i = 0; i < parts_.size(); ++i)
      variance += weights_[i] * (parts_[i].variance() + (parts_[i].mean() - mean).square());
    return {{.mean = mean, .sd = variance.sqrt()}};
  }

 private:
  Density evaluate(const Tensor& x) const override {
    std::vector<Tensor> log_parts, scores;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Density part = parts_[i].density(x);
      log_parts.push_back(part.log_prob + std::log(weights_[i]));
      scores.push_back(part.score);
    }
    const Tensor joined = at::stack(log_parts, 1);  // [N, K]
    Density result{.log_prob = at::logsumexp(joined, 1), .score = at::zeros_like(x)};
    const Tensor responsibility = at::softmax(joined, 1);
    for (std::size_t i = 0; i < parts_.size(); ++i)
      result.score.addcmul_(responsibility.select(1, static_cast<std::int64_t>(i)).unsqueeze(1), scores[i]);
    return result;
  }

  std::vector<Normal> parts_;
  std::vector<double> weights_;
};

[[maybe_unused]] const bool registered = register_target(
    "mixture",
    config::Schema<Options>("mixture of normal laws")
        .key("weights", &Options::weights,
             {.doc = "weights [K], scaled to sum 1; default equal", .min = 0, .open_min = true})
        .key("means", &Options::means, {.doc = "means [K, D]", .required = true, .example = "[[-2, 0], [2, 0]]"})
        .key("sds", &Options::sds, {.doc = "standard deviations [K, D], default 1", .min = 0, .open_min = true})
        .key("covs", &Options::covs, {.doc = "covariances [K, D, D] in place of sds"})
        .main("means")
        .check(check),
    [](const Options& o, const TargetContext&) { return std::make_unique<Mixture>(o); });

}  // namespace
}  // namespace gaussflow
