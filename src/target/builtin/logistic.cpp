#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/hdf5.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/minibatches.hpp"
#include "gaussflow/target/product.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace gaussflow {
namespace {

struct Options {
  DataRef file;
  std::string features = "X";
  std::string labels = "y";
  double prior_sd = 1;
  bool transpose = false;
  bool intercept = true;
  bool standardize = true;
  std::optional<std::int64_t> batch;
  std::optional<DataRef> reference;
};

/// `name` in the group that `file` names.
DataRef within(const DataRef& file, const std::string& name) {
  if (name.starts_with('/')) return {file.file, name};
  return {file.file, (file.dataset.empty() || file.dataset == "/" ? "" : file.dataset) + "/" + name};
}

/// Refuses a dataset that is not there with the ones of its file that could be meant.
template <class Fits>
void check_there(const DataRef& ref, const char* key, const Fits& fits) {
  if (io::has_dataset(ref.file, ref.dataset)) return;
  std::vector<std::string> candidates;
  for (const io::Hdf5Entry& entry : io::list_hdf5(ref.file).entries)
    if (entry.kind == io::Hdf5Entry::Kind::dataset && fits(entry)) candidates.push_back(entry.path);
  if (!candidates.empty())
    throw InputError(fmt::format("{} is not there; if {} is meant, set target.{}: {}", ref.text(), either(candidates), key,
                                 candidates.front()));
}

bool is_matrix(const io::Hdf5Entry& entry) { return entry.refusal.empty() && entry.shape.size() == 2; }

bool has_rows(const io::Hdf5Entry& entry, std::int64_t rows) {
  if (!entry.refusal.empty() && entry.type != "booleans") return false;
  return entry.shape == std::vector{rows} || entry.shape == std::vector<std::int64_t>{rows, 1};
}

/// ±1 for each row of `x`; the file holds {0, 1} or {−1, 1}.
std::vector<double> signs(const DataRef& ref, const DataRef& features, const Tensor& x) {
  std::vector<double> y = to_vector(io::read_labels(ref));
  if (const auto count = static_cast<std::int64_t>(y.size()); count != x.size(0))
    throw InputError(fmt::format(
        "{} holds {} but {} has shape {}: {}", ref.text(), counted(count, "label"), features.text(), shape_text(x),
        count == x.size(1) ? "if that is [columns, N], set target.transpose: true" : "one label for each row is needed"));
  const bool signs = std::find(y.begin(), y.end(), -1.0) != y.end();
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] != 1 && y[i] != (signs ? -1 : 0))
      throw InputError(fmt::format("{}: label {} is {}: labels are 0 and 1, or -1 and 1", ref.text(), i, number_text(y[i])));
    y[i] = y[i] == 1 ? 1 : -1;
  }
  return y;
}

/// The file's moments of each coordinate, from datasets mean and sd.
Moments read_reference(const DataRef& ref, std::int64_t dim) {
  const auto read = [&](const char* name) {
    const DataRef part = within(ref, name);
    const Tensor t = io::read_array(part);
    if (t.dim() != 1 || t.size(0) != dim)
      throw InputError(fmt::format("{} has shape {} but the posterior has {} coordinates", part.text(), shape_text(t), dim));
    return t.to(at::kDouble);
  };
  return {.mean = read("mean"), .sd = read("sd")};
}

/// Bayesian logistic regression: log p(w) = Σ_i log σ(s_i x_iᵀ w) − ‖w‖² / (2 prior_sd²), s_i = ±1, without constants.
class Logistic final : public Target {
 public:
  explicit Logistic(const Options& o) : precision_(1 / (o.prior_sd * o.prior_sd)), standardize_(o.standardize) {
    const DataRef features = within(o.file, o.features), labels = within(o.file, o.labels);
    check_there(features, "X", is_matrix);
    const io::SampleFile x = io::read_samples(features, {.transpose = o.transpose});
    const std::int64_t rows = x.samples.size(0), columns = x.samples.size(1);
    if (o.intercept) names_.emplace_back("intercept");
    for (std::int64_t c = 0; c < columns; ++c)
      names_.push_back(x.names.empty() ? fmt::format("x{}", c + 1) : x.names[static_cast<std::size_t>(c)]);

    Tensor design = o.standardize ? standardised(x.samples) : x.samples;
    if (o.intercept) design = at::cat({at::ones({rows, 1}, at::kDouble), design}, 1);
    check_there(labels, "y", [&](const io::Hdf5Entry& entry) { return has_rows(entry, rows) || has_rows(entry, columns); });
    const std::vector<double> s = signs(labels, features, x.samples);
    if (std::adjacent_find(s.begin(), s.end(), std::not_equal_to<>()) == s.end())
      notes_.push_back(
          fmt::format("{} holds {}, all of one class: nothing tells classes apart, only the prior bounds the coefficients",
                      labels.text(), counted(rows, "label")));
    signed_rows_ = Constant(design * tensor_from(s).unsqueeze(1));
    digest_ = Digest().update(x.digest).update(s.data(), s.size() * sizeof(double)).hex();
    if (o.batch)
      if (const std::string note = batch_note(*o.batch, rows, "target.logistic.batch"); !note.empty())
        notes_.push_back(note);
    if (o.batch && *o.batch < rows) batches_.emplace(rows, *o.batch);
    if (o.reference) reference_ = read_reference(*o.reference, dim());
  }

  std::int64_t dim() const override { return signed_rows_.fp64().size(1); }
  bool has_density() const override { return true; }
  std::optional<Moments> reference() const override { return reference_; }
  std::vector<std::string> names() const override { return names_; }
  std::string caption() const override {
    if (!standardize_) return "";
    return "coefficients of standardised features (mean 0, sd 1); target.standardize: false keeps the columns' units";
  }
  std::vector<std::string> notes() const override { return notes_; }
  TargetRecord record() const override {
    return {.kind = "logistic", .digest = digest_, .shape = signed_rows_.fp64().sizes().vec()};
  }

  Density density(const Tensor& w, const Draw& draw) const override {
    check_particles("logistic", dim(), w);
    Tensor rows = signed_rows_.like(w);
    double scale = 1;
    if (batches_) {
      std::vector<std::int64_t> chosen = batches_->at(draw);
      const auto count = static_cast<std::int64_t>(chosen.size());
      scale = static_cast<double>(rows.size(0)) / static_cast<double>(count);
      rows = rows.index_select(0, at::from_blob(chosen.data(), {count}, at::kLong).to(rows.device()));
    }
    Density result{.log_prob = w.square().sum(1).mul_(-0.5 * precision_), .score = w * -precision_};
    // Blocks of both bound the memory, and fix the order of every sum whatever the number of threads.
    constexpr std::int64_t particle_block = 16, row_block = 2048;
    for_row_blocks(w.size(0), w.is_cpu() ? particle_block : 4096, w.is_cpu(), [&](std::int64_t first, std::int64_t last) {
      const Tensor at_w = w.slice(0, first, last);
      Tensor log_prob = result.log_prob.slice(0, first, last), score = result.score.slice(0, first, last);
      for (std::int64_t begin = 0; begin < rows.size(0); begin += row_block) {
        const Tensor block = rows.slice(0, begin, std::min(rows.size(0), begin + row_block));
        const Tensor z = at::mm(at_w, block.t());
        log_prob.add_(at::log_sigmoid(z).sum(1), scale);
        score.addmm_(at::sigmoid(z.neg()), block, 1, scale);
      }
    });
    return result;
  }

 private:
  /// Columns with mean 0 and sd 1 (ddof 0). A constant column has no sd: it is centred and stays 0.
  Tensor standardised(const Tensor& x) {
    const Tensor mean = x.mean(0), centred = x - mean;
    Tensor sd = centred.square().mean(0).sqrt();
    const Tensor constant = sd <= 1e-13 * mean.abs();
    for (std::int64_t c = 0; c < x.size(1); ++c)
      if (constant[c].item<bool>())
        notes_.push_back(fmt::format("column '{}' is constant: its coefficient follows the prior alone",
                                     names_[names_.size() - static_cast<std::size_t>(x.size(1) - c)]));
    return at::where(constant, 0.0, centred / sd);
  }

  double precision_;
  bool standardize_;
  Constant signed_rows_;  ///< s_i x_i, [N, D]
  std::vector<std::string> names_, notes_;
  std::string digest_;
  std::optional<Minibatches> batches_;
  std::optional<Moments> reference_;
};

[[maybe_unused]] const bool registered = register_target(
    "logistic",
    config::Schema<Options>("Bayesian logistic regression on data from an HDF5 file")
        .key("file", &Options::file,
             {.doc = "FILE or FILE:/group with the features and the labels",
              .required = true,
              .resume = config::Resume::free,
              .example = "data/breast_cancer.h5"})
        .key("X", &Options::features, {.doc = "dataset of features [N, columns]"})
        .key("y", &Options::labels, {.doc = "dataset of labels [N], 0 and 1 or -1 and 1"})
        .key("transpose", &Options::transpose, {.doc = "X is [columns, N]"})
        .key("prior_sd", &Options::prior_sd,
             {.doc = "sd of the normal prior of each coefficient", .min = 0, .open_min = true})
        .key("intercept", &Options::intercept, {.doc = "put a column of ones first"})
        .key("standardize", &Options::standardize, {.doc = "bring each feature to mean 0 and sd 1"})
        .key("batch", &Options::batch, {.doc = "rows seen in a step, their likelihood scaled to all; default all", .min = 1})
        .key("reference", &Options::reference,
             {.doc = "FILE or FILE:/group with mean and sd of an independent run, shown beside the result",
              .resume = config::Resume::free})
        .main("file"),
    [](const Options& o, const TargetContext&) { return std::make_unique<Logistic>(o); });

}  // namespace
}  // namespace gaussflow
