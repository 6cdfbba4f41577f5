#include "gaussflow/io/sample_file.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_reader.hpp"
#include "io/numbers.hpp"
#include "io/sample_checks.hpp"
#include "io/sample_dataset.hpp"
#include "io/sealed_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

namespace gaussflow::io {

namespace {

using hdf5::Dataset;
using hdf5::Family;
using hdf5::Reader;

[[noreturn]] void refuse(const Dataset& dataset, const std::string& why) {
  throw InputError(fmt::format("{} {}", dataset.where, why));
}

Tensor read_weights(const Reader& file, const std::string& path, std::int64_t samples) {
  const Dataset dataset = file.dataset(path);
  check_numbers(dataset);
  const bool column = dataset.shape.size() == 2 && (dataset.shape[1] == 1 || dataset.shape[0] == 1);
  if (dataset.shape.size() != 1 && !column)
    refuse(dataset, fmt::format("has shape [{}], weights need [{}]", fmt::join(dataset.shape, ", "), samples));
  if (dataset.count() != samples)
    refuse(dataset, fmt::format("has {} for {}", counted(dataset.count(), "weight"), counted(samples, "sample")));
  const Tensor weights = read_doubles(dataset).view({-1});
  check_digest(dataset, weights);
  check_weights(weights, dataset.where);
  return weights;
}

/// Says that weights lie beside the samples and are not used, unless they are all equal or no weights at all.
void note_weights(const Reader& file, const std::string& path, std::int64_t samples, std::vector<std::string>& notes) {
  const auto found = neighbour(file, path, "weights");
  if (!found || !found->info.numeric() || found->shape != std::vector<std::int64_t>{samples}) return;
  Tensor weights;
  try {
    weights = read_weights(file, found->path, samples);
  } catch (const InputError&) {
    return;
  }
  if (!at::equal(weights, weights.slice(0, 0, 1).expand_as(weights)))
    notes.push_back(
        fmt::format("{} is not used: every sample counts the same; target.weights: {} uses it", found->where, found->path));
}

}  // namespace

SampleFile read_samples(const DataRef& ref, const SampleOptions& options) {
  const CrashGuard guard(ref.file);
  const Reader file(ref.file);
  const Dataset dataset = named_dataset(file, ref);
  check_numbers(dataset);
  SampleFile result;
  result.dataset = dataset.path;
  check_matrix(dataset);
  const bool reversed = has_reversed_axes(dataset);
  Tensor values = read_doubles(dataset, options.transpose || reversed);
  check_digest(dataset, values);
  if (reversed) {
    values = values.t();
    result.notes.push_back(
        fmt::format("{} was written by MATLAB, which stores axes reversed: read as {}", dataset.where, shape_text(values)));
  }
  if (dataset.info.family == Family::floating && dataset.info.size > 8)
    result.notes.push_back(fmt::format("{} holds {}: rounded to fp64", dataset.where, dataset.info.name));
  result.samples = as_matrix(values, options.transpose, dataset.where, result.notes);
  check_fill(dataset, result.samples);
  check_samples(result.samples, dataset.where, result.notes);
  result.names = read_names(file, result.dataset, result.samples.size(1));
  if (!options.weights.empty())
    result.weights = read_weights(file, options.weights, result.samples.size(0));
  else
    note_weights(file, result.dataset, result.samples.size(0), result.notes);
  result.digest = sample_digest(result.samples, result.weights);
  return result;
}

Tensor read_array(const DataRef& ref, std::map<std::string, double>* attributes) {
  const CrashGuard guard(ref.file);
  const Reader file(ref.file);
  const Dataset dataset = named_dataset(file, ref);
  Tensor values = read_numbers(dataset);
  if (attributes != nullptr) {
    const hdf5::Handle root = file.object("/");
    for (const std::string& name : hdf5::attribute_names(root))
      if (const auto value = hdf5::number_attribute(root, name)) (*attributes)[name] = *value;
  }
  return values;
}

Tensor read_labels(const DataRef& ref) {
  const CrashGuard guard(ref.file);
  const Reader file(ref.file);
  const Dataset dataset = file.dataset(ref.dataset);
  if (dataset.info.family == Family::text) refuse(dataset, "holds text; labels are numbers, one for each row");
  const bool column = dataset.shape.size() == 2 && (dataset.shape[0] == 1 || dataset.shape[1] == 1);
  if (dataset.null || (dataset.shape.size() != 1 && !column))
    refuse(dataset, fmt::format("has shape [{}]; labels are [N], one for each row", fmt::join(dataset.shape, ", ")));
  if (dataset.info.family != Family::boolean) return read_numbers(dataset).to(at::kDouble).reshape({-1});
  hdf5::check_memory(dataset, sizeof(double), 2);
  hdf5::check_storage(dataset);
  return hdf5::read(dataset, at::kBool).to(at::kDouble).reshape({-1});
}

void write_samples(const std::filesystem::path& file, const Tensor& samples, const Tensor& weights,
                   const std::vector<std::string>& names, const SampleAttributes& attributes) {
  const std::int64_t count = samples.size(0);
  const Arrays arrays{
      {"/samples", samples},
      {"/weights", weights.defined() ? weights : at::full({count}, 1.0 / static_cast<double>(count), at::kDouble)}};
  const std::int64_t bytes = static_cast<std::int64_t>(samples.nbytes()) + count * 8 + (1 << 16);
  const auto step = attributes.numbers.find("step");
  const Seal seal{"gaussflow-samples", 1, step == attributes.numbers.end() ? 0 : static_cast<std::int64_t>(step->second)};
  write_sealed(file, seal, bytes, arrays, [&](hdf5::Writer& out) {
    for (const auto& [name, text] : attributes.texts) out.attribute("/", name, text);
    for (const auto& [name, number] : attributes.numbers) out.attribute("/", name, number);
    for (const auto& [path, values] : arrays) {
      out.tensor(path, values);
      out.attribute(path, digest_name, sample_digest(values.detach().to(at::kCPU, at::kDouble).contiguous(), {}));
    }
    if (!names.empty()) out.texts("/names", names);
  });
}

}  // namespace gaussflow::io
