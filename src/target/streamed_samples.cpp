#include "gaussflow/target/streamed_samples.hpp"

#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/io/row_file.hpp"
#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/minibatches.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace gaussflow {
namespace {

constexpr std::int64_t kept_rows = 65536;       ///< of the file, for all_samples
constexpr std::int64_t kept_pieces = 64;        ///< in so many places
constexpr std::int64_t pass_numbers = 1 << 22;  ///< read at once while the file is passed over

Cloud equally_weighted(const Tensor& points, at::ScalarType dtype) {
  const auto count = points.size(0);
  return {.points = points.to(dtype), .weights = at::full({count}, 1.0 / static_cast<double>(count), dtype)};
}

class StreamedSamples final : public Target {
 public:
  StreamedSamples(const DataRef& ref, std::int64_t batch, bool standardize)
      : rows_(ref), names_(rows_.names()), batch_(batch), standardize_(standardize), blocks_(1, 1) {
    if (rows_.shape().size() != 2 || count() == 0 || dim() == 0)
      throw InputError(fmt::format("{} has shape [{}], samples to be streamed are [M, D]", rows_.where(),
                                   fmt::join(rows_.shape(), ", ")));
    blocks_ = Minibatches((count() + batch_ - 1) / batch_, 1);
    pass();
    keep();
  }

  std::int64_t dim() const override { return rows_.shape()[1]; }
  bool has_samples() const override { return true; }
  std::optional<Moments> moments() const override { return moments_; }
  std::vector<std::string> names() const override { return names_.empty() ? Target::names() : names_; }
  bool standardize() const override { return standardize_; }
  std::vector<std::string> notes() const override {
    return {
        fmt::format("{}: {} rows stay in the file, {} are read in a step; bandwidth, start and energies use {} rows spread "
                    "evenly over it. Blocks are consecutive rows: shuffle a file whose order means something",
                    rows_.where(), count(), std::min(batch_, count()), kept_.fp64().size(0))};
  }
  TargetRecord record() const override { return {.kind = "samples", .digest = digest_, .shape = rows_.shape()}; }

  Cloud all_samples(at::ScalarType dtype) const override { return equally_weighted(kept_.in(dtype), dtype); }

  Cloud samples(const Draw& draw, at::ScalarType dtype) const override {
    const std::int64_t block = blocks_.at(draw).front();
    const std::lock_guard lock(mutex_);  // a step asks for its block several times
    if (block != read_block_) {
      block_ = read(block * batch_, std::min(batch_, count() - block * batch_));
      read_block_ = block;
    }
    return equally_weighted(block_, dtype);
  }

 private:
  std::int64_t count() const { return rows_.shape()[0]; }
  Tensor read(std::int64_t first, std::int64_t length) const { return rows_.read(0, first, length, at::kDouble); }

  /// Digest (of the bytes that read_samples would give) and moments (Welford, in the order of the rows) by one pass.
  void pass() {
    Digest digest;
    digest.update(fmt::format("[{}]", fmt::join(rows_.shape(), ", ")));
    const std::int64_t step = std::max<std::int64_t>(1, pass_numbers / dim());
    std::vector<double> mean(static_cast<std::size_t>(dim()), 0.0), variance(mean);
    for (std::int64_t first = 0; first < count(); first += step) {
      const Tensor block = read(first, std::min(step, count() - first));
      digest.update(block.const_data_ptr(), block.nbytes());
      const double* value = block.const_data_ptr<double>();
      for (std::int64_t row = 0; row < block.size(0); ++row)
        for (std::size_t d = 0; d < mean.size(); ++d) {
          const double gap = *value++ - mean[d];
          mean[d] += gap / static_cast<double>(first + row + 1);
          variance[d] += gap * (value[-1] - mean[d]);
        }
    }
    for (double& square : variance) square /= static_cast<double>(count());
    digest_ = digest.hex();
    moments_ = moments_from(mean, variance);
  }

  void keep() {
    std::vector<Tensor> pieces;
    const std::int64_t length = std::min(count(), kept_rows) / kept_pieces;
    if (count() <= kept_rows) {
      pieces.push_back(read(0, count()));
    } else {
      for (std::int64_t i = 0; i < kept_pieces; ++i)
        pieces.push_back(read((count() - length) / (kept_pieces - 1) * i, length));
    }
    kept_ = Constant(at::cat(pieces));
  }

  io::RowFile rows_;
  std::vector<std::string> names_;  ///< empty: the file has none
  std::int64_t batch_;
  bool standardize_;
  Minibatches blocks_;
  std::string digest_;
  Moments moments_;
  Constant kept_;
  mutable std::mutex mutex_;
  mutable std::int64_t read_block_ = -1;
  mutable Tensor block_;
};

}  // namespace

std::unique_ptr<Target> streamed_samples(const DataRef& file, std::int64_t batch, bool standardize) {
  return std::make_unique<StreamedSamples>(file, batch, standardize);
}

}  // namespace gaussflow
