#include "gaussflow/flow/start.hpp"

#include "gaussflow/core/data_ref.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/sample_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>
#include <vector>

namespace gaussflow {

namespace {

constexpr std::int64_t default_count = 500;

/// One number for all coordinates, or one for each.
Tensor per_coordinate(const std::vector<double>& values, std::int64_t dim, const std::string& key) {
  if (values.size() != 1 && static_cast<std::int64_t>(values.size()) != dim)
    throw ConfigError(fmt::format("particles.init.{} has {} but the target has dimension {}", key,
                                  counted(static_cast<std::int64_t>(values.size()), "number"), dim));
  const Tensor t = tensor_from(values);
  return values.size() == 1 ? t.expand({dim}) : t;
}

void check_fit(const Tensor& x, std::optional<std::int64_t> count, std::int64_t dim, const std::string& what) {
  if (x.size(1) != dim)
    throw InputError(fmt::format("{} has shape {} but the target has dimension {}", what, shape_text(x), dim));
  if (count && *count != x.size(0))
    throw InputError(fmt::format("{} holds {} but particles.count is {}: leave the count out to take them all", what,
                                 counted(x.size(0), "particle"), *count));
}

struct NormalOptions {
  std::vector<double> mean{0};
  std::vector<double> std{1};
};
class NormalStart : public Start {
 public:
  explicit NormalStart(NormalOptions options) : options_(std::move(options)) {}
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw& draw) const override {
    const std::int64_t dim = target.dim();
    return per_coordinate(options_.mean, dim, "normal.mean") +
           per_coordinate(options_.std, dim, "normal.std") * normal(draw, count.value_or(default_count), dim);
  }

 private:
  NormalOptions options_;
};

struct UniformOptions {
  std::vector<double> low{-1};
  std::vector<double> high{1};
};
class UniformStart : public Start {
 public:
  explicit UniformStart(UniformOptions options) : options_(std::move(options)) {}
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw& draw) const override {
    const std::int64_t dim = target.dim();
    const Tensor low = per_coordinate(options_.low, dim, "uniform.low");
    const Tensor high = per_coordinate(options_.high, dim, "uniform.high");
    return low + (high - low) * uniform(draw, count.value_or(default_count), dim);
  }

 private:
  UniformOptions options_;
};

struct NoOptions {};

/// N(mean, sd²) of the samples; N(0,1) for a density, whose moments are what the run is to find.
class DefaultStart : public Start {
 public:
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw& draw) const override {
    const Tensor z = normal(draw, count.value_or(default_count), target.dim());
    const std::optional<Moments> moments = target.has_samples() ? target.moments() : std::nullopt;
    return moments ? moments->mean + moments->sd * z : z;
  }
};

/// Distinct samples of the target, chosen at random.
class SamplesStart : public Start {
 public:
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw& draw) const override {
    if (!target.has_samples())
      throw ConfigError("particles.init: samples are taken from the target, but it is a density: use normal or default");
    const Tensor samples = target.all_samples(at::kDouble).points;
    const std::int64_t n = count.value_or(std::min(default_count, samples.size(0)));
    if (n > samples.size(0))
      throw InputError(
          fmt::format("particles.init: samples: the target has {}, fewer than particles.count = {}; lower the "
                      "count, or use default",
                      counted(samples.size(0), "sample"), n));
    const std::vector<std::int64_t> chosen = subsample(draw, samples.size(0), n);
    return samples.index_select(0, at::tensor(chosen, at::kLong));
  }
};

struct FileOptions {
  DataRef file;
};
class FileStart : public Start {
 public:
  explicit FileStart(FileOptions options) : options_(std::move(options)) {}
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw&) const override {
    const Tensor x = io::read_samples(options_.file).samples;
    check_fit(x, count, target.dim(), "particles.init.file: " + options_.file.text());
    return x;
  }

 private:
  FileOptions options_;
};

struct RunOptions {
  std::filesystem::path run;
};
class RunStart : public Start {
 public:
  explicit RunStart(RunOptions options) : options_(std::move(options)) {}
  Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw&) const override {
    const std::filesystem::path& run = options_.run;
    std::error_code ignored;
    if (!std::filesystem::exists(run, ignored))
      throw InputError(fmt::format("particles.init.run: {} does not exist{}", run.string(), file_suggestion(run)));
    if (!std::filesystem::is_directory(run / "checkpoints", ignored))
      throw InputError(
          fmt::format("particles.init.run: {} is no folder of a run, there is no checkpoints/ in it", run.string()));
    // Not ours to mend: its own process may be at work there.
    const Tensor x = io::newest_checkpoint(run / "checkpoints", io::Repair::none).checkpoint.state.x.to(at::kDouble);
    check_fit(x, count, target.dim(), "particles.init.run: the cloud of " + run.string());
    return x;
  }

 private:
  RunOptions options_;
};

config::Schema<NoOptions> no_options(const std::string& doc) { return config::Schema<NoOptions>(doc); }

}  // namespace

const std::map<std::string, StartPlugin>& starts() {
  using config::make_plugin;
  using config::Schema;
  static const std::map<std::string, StartPlugin> all{
      {"default", make_plugin<Start>("default", no_options("normal with the samples' mean and sd; N(0,1) for a density"),
                                     [](const NoOptions&) { return std::make_unique<DefaultStart>(); })},
      {"normal",
       make_plugin<Start>("normal",
                          Schema<NormalOptions>("independent normals")
                              .key("mean", &NormalOptions::mean, {.doc = "mean, one number or one for each coordinate"})
                              .key("std", &NormalOptions::std, {.doc = "standard deviation, likewise", .min = 0}),
                          [](const NormalOptions& o) { return std::make_unique<NormalStart>(o); })},
      {"uniform", make_plugin<Start>(
                      "uniform",
                      Schema<UniformOptions>("uniform in a box")
                          .key("low", &UniformOptions::low, {.doc = "lower edges, one number or one for each coordinate"})
                          .key("high", &UniformOptions::high, {.doc = "upper edges, likewise"}),
                      [](const UniformOptions& o) { return std::make_unique<UniformStart>(o); })},
      {"samples", make_plugin<Start>("samples", no_options("distinct samples of the target, at random"),
                                     [](const NoOptions&) { return std::make_unique<SamplesStart>(); })},
      {"file", make_plugin<Start>(
                   "file",
                   Schema<FileOptions>("points from an HDF5 file")
                       .key("file", &FileOptions::file,
                            {.doc = "FILE or FILE:/dataset, [N, D]", .required = true, .example = "data/two_moons.h5:/x"})
                       .main("file"),
                   [](const FileOptions& o) { return std::make_unique<FileStart>(o); })},
      {"run", make_plugin<Start>("run",
                                 Schema<RunOptions>("the particles of another run's newest checkpoint")
                                     .key("run", &RunOptions::run,
                                          {.doc = "run directory", .required = true, .example = "runs/svgd_banana"})
                                     .main("run"),
                                 [](const RunOptions& o) { return std::make_unique<RunStart>(o); })},
  };
  return all;
}

ChosenStart default_start() {
  config::Diagnostics none;
  return starts().at("default").read(config::Node{}, none);
}

}  // namespace gaussflow
