#include "gaussflow/core/error.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/minibatches.hpp"
#include "gaussflow/target/streamed_samples.hpp"

#include <ATen/ATen.h>

#include <optional>

namespace gaussflow {
namespace {

struct Options {
  DataRef file;
  std::string weights;
  bool transpose = false;
  std::optional<std::int64_t> batch;
  bool stream = false;
  bool standardize = false;
};

/// Weights with sum 1; equal ones when the file has none. read_samples has refused those that cannot be scaled so.
std::vector<double> normalised(const Tensor& weights, std::int64_t count) {
  if (!weights.defined()) return std::vector<double>(static_cast<std::size_t>(count), 1.0 / static_cast<double>(count));
  std::vector<double> w = to_vector(weights);
  double sum = 0;
  for (const double x : w) sum += x;
  for (double& x : w) x /= sum;
  return w;
}

/// Weighted mean and sd (ddof 0) in one order of summation, so that they do not depend on the number of threads. A column of
/// equal values has that very mean and no sd, not one of rounding.
Moments empirical(const Tensor& points, const std::vector<double>& weights) {
  const double* values = points.const_data_ptr<double>();
  const auto dim = static_cast<std::size_t>(points.size(1));
  std::vector<double> mean(dim, 0.0), variance(dim, 0.0);
  for (std::size_t j = 0; j < weights.size(); ++j)
    for (std::size_t d = 0; d < dim; ++d) mean[d] += weights[j] * values[j * dim + d];
  for (std::size_t d = 0; d < dim; ++d) {
    const auto differs = [&](std::size_t j) { return values[j * dim + d] != values[d]; };
    std::size_t j = 1;
    while (j < weights.size() && !differs(j)) ++j;
    if (j >= weights.size()) mean[d] = values[d];
  }
  for (std::size_t j = 0; j < weights.size(); ++j)
    for (std::size_t d = 0; d < dim; ++d) {
      const double centred = values[j * dim + d] - mean[d];
      variance[d] += weights[j] * centred * centred;
    }
  return moments_from(mean, variance);
}

/// A cloud from a file.
class Samples final : public Target {
 public:
  explicit Samples(const Options& o)
      : file_(io::read_samples(o.file, {.weights = o.weights, .transpose = o.transpose})), standardize_(o.standardize) {
    const std::int64_t count = file_.samples.size(0);
    const std::vector<double> weights = normalised(file_.weights, count);
    moments_ = empirical(file_.samples, weights);
    points_ = Constant(file_.samples);
    weights_ = Constant(tensor_from(weights));
    if (!o.batch) return;
    if (const std::string note = batch_note(*o.batch, count, "target.samples.batch"); !note.empty())
      file_.notes.push_back(note);
    if (*o.batch >= count) return;
    batch_ = *o.batch;
    if (file_.weights.defined())
      weighted_batches_.emplace(weights, batch_);
    else
      batches_.emplace(count, batch_);
  }

  std::int64_t dim() const override { return file_.samples.size(1); }
  bool has_samples() const override { return true; }
  std::optional<Moments> moments() const override { return moments_; }
  std::vector<std::string> names() const override { return file_.names.empty() ? Target::names() : file_.names; }
  bool standardize() const override { return standardize_; }
  std::vector<std::string> notes() const override { return file_.notes; }
  TargetRecord record() const override {
    return {.kind = "samples", .digest = file_.digest, .shape = file_.samples.sizes().vec()};
  }

  Cloud all_samples(at::ScalarType dtype) const override {
    return {.points = points_.in(dtype), .weights = weights_.in(dtype)};
  }

  Cloud samples(const Draw& draw, at::ScalarType dtype) const override {
    if (batch_ == 0) return all_samples(dtype);
    std::vector<std::int64_t> chosen = batches_ ? batches_->at(draw) : weighted_batches_->at(draw);
    const auto count = static_cast<std::int64_t>(chosen.size());
    const Tensor index = at::from_blob(chosen.data(), {count}, at::kLong);
    return {.points = points_.in(dtype).index_select(0, index),
            .weights = at::full({count}, 1.0 / static_cast<double>(count), dtype)};
  }

 private:
  io::SampleFile file_;
  bool standardize_;
  Constant points_, weights_;
  Moments moments_;
  std::int64_t batch_ = 0;  ///< 0: all
  std::optional<Minibatches> batches_;
  std::optional<WeightedMinibatches> weighted_batches_;
};

[[maybe_unused]] const bool registered = register_target(
    "samples",
    config::Schema<Options>("samples from an HDF5 file")
        .key("file", &Options::file,
             {.doc = "FILE or FILE:/dataset of shape [M, D]",
              .required = true,
              .resume = config::Resume::free,
              .example = "data/two_moons.h5:/x"})
        .key("weights", &Options::weights, {.doc = "dataset of weights [M] in the same file"})
        .key("transpose", &Options::transpose, {.doc = "the dataset is [D, M]"})
        .key("batch", &Options::batch,
             {.doc = "samples seen in a step; each epoch visits all in a fresh order. Default all", .min = 1})
        .key("stream", &Options::stream,
             {.doc = "leave the samples in the file: each step reads `batch` consecutive rows, the blocks in a fresh order "
                     "in each "
                     "epoch. For files larger than memory"})
        .key("standardize", &Options::standardize, {.doc = "measure distances in units of each coordinate's sd"})
        .main("file"),
    [](const Options& o, const TargetContext&) -> std::unique_ptr<Target> {
      if (!o.stream) try {
          return std::make_unique<Samples>(o);
        } catch (const DeviceError& error) {
          throw DeviceError(std::string(error.what()) +
                            "; target.samples: {file: …, batch: 10000, stream: true} reads it in blocks");
        }
      if (!o.batch) throw ConfigError("target.samples.stream: true needs target.samples.batch, the rows that a step reads");
      if (!o.weights.empty() || o.transpose)
        throw ConfigError(
            "target.samples.stream: true reads unweighted samples [M, D]: weights and transpose need the file in memory");
      return streamed_samples(o.file, *o.batch, o.standardize);
    });

}  // namespace
}  // namespace gaussflow
