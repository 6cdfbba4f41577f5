#include "gaussflow/io/sample_file.hpp"

#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/hdf5_reader.hpp"
#include "io/hdf5_writer.hpp"
#include "io/numbers.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

namespace gaussflow::io {

namespace {

using hdf5::Dataset;
using hdf5::Family;
using hdf5::Reader;

[[noreturn]] void refuse(const Dataset& dataset, const std::string& why) {
  throw InputError(fmt::format("{} {}", dataset.where, why));
}

bool is_candidate(const Dataset& dataset) {
  return dataset.info.numeric() && !dataset.null && (dataset.shape.size() == 1 || dataset.shape.size() == 2);
}

/// The dataset of a file that was named without one.
std::string only_candidate(const Reader& file) {
  if (file.has_dataset("/samples")) return "/samples";
  const std::string name = file.path().string();
  if (const auto format = hdf5::text_attribute(file.object("/"), "format"); format && format->starts_with("gaussflow-"))
    throw InputError(fmt::format("{} is a {}, not a file of samples: it has no /samples; name a dataset ({}:/path; {})",
                                 name, *format, name, file.contents()));
  std::vector<std::string> candidates;
  for (const std::string& path : file.datasets("/", 10000))
    if (is_candidate(file.dataset(path))) candidates.push_back(path);
  if (candidates.size() == 1) return candidates.front();
  throw InputError(fmt::format("{} has no /samples and {}; name one ({}:/path); {}", name,
                               candidates.empty() ? "no other dataset of numbers with one or two axes"
                                                  : fmt::format("{} datasets that could be meant", candidates.size()),
                               name, file.contents()));
}

/// What is wrong with a dataset whatever its rank.
void check_numbers(const Dataset& dataset) {
  if (!dataset.info.numeric())
    refuse(dataset, fmt::format("holds {}, numbers are needed: {}", dataset.info.name, dataset.info.advice));
  if (dataset.null) refuse(dataset, "has a null dataspace: it holds no numbers at all");
  if (hdf5::number_attribute(dataset.id, "MATLAB_empty").value_or(0) != 0) refuse(dataset, "is an empty MATLAB array");
  for (const auto& [name, neutral] : {std::pair{"scale_factor", 1.0}, std::pair{"add_offset", 0.0}})
    if (const auto value = hdf5::number_attribute(dataset.id, name); value && *value != neutral)
      refuse(dataset,
             fmt::format("is packed ({} = {}); unpack it first: its stored numbers are not the values", name, *value));
}

/// MATLAB stores [rows, columns] with the axes reversed.
bool is_matlab(const Dataset& dataset) { return dataset.shape.size() > 1 && H5Aexists(dataset.id, "MATLAB_class") > 0; }

/// The numbers in fp64; integers that fp64 cannot hold are refused. `copied`: the caller will make a copy.
Tensor read_doubles(const Dataset& dataset, bool copied = false) {
  const bool wide = dataset.info.family == Family::integer && dataset.info.size >= 8;
  hdf5::check_memory(dataset, 8, wide || copied ? 2 : 1);
  hdf5::check_storage(dataset);
  if (!wide) return hdf5::read(dataset, at::kDouble);
  return exact_doubles(hdf5::read_integers(dataset), dataset.info.is_signed, dataset.where);
}

Tensor read_weights(const Reader& file, const std::string& path, std::int64_t samples) {
  const Dataset dataset = file.dataset(path);
  check_numbers(dataset);
  const bool column = dataset.shape.size() == 2 && (dataset.shape[1] == 1 || dataset.shape[0] == 1);
  if (dataset.shape.size() != 1 && !column)
    refuse(dataset, fmt::format("has shape [{}], weights need [{}]", fmt::join(dataset.shape, ", "), samples));
  if (dataset.count() != samples) refuse(dataset, fmt::format("has {} weights for {} samples", dataset.count(), samples));
  const Tensor weights = read_doubles(dataset).view({-1});
  check_weights(weights, dataset.where);
  return weights;
}

/// Names of the columns beside the samples: `names`, when it fits.
std::vector<std::string> read_names(const Reader& file, const std::string& path, std::int64_t dim) {
  const std::string beside = path.substr(0, path.rfind('/')) + "/names";
  if (!file.has_dataset(beside)) return {};
  const Dataset dataset = file.dataset(beside);
  if (dataset.info.family != Family::text || dataset.shape != std::vector<std::int64_t>{dim}) return {};
  return hdf5::read_texts(dataset, 1 << 20);
}

void check_fill(const Dataset& dataset, const Tensor& samples) {
  for (const char* name : {"_FillValue", "missing_value"}) {
    const auto fill = hdf5::number_attribute(dataset.id, name);
    if (!fill || std::isnan(*fill)) continue;
    if (const Marked marked = rows_that_hold(samples, *fill, dataset.info.size == 4); marked.rows > 0)
      refuse(dataset, fmt::format("has {} of {} rows marked missing ({} = {}), the first is row {}; drop them first",
                                  marked.rows, samples.size(0), name, number_text(*fill), marked.first));
  }
}

/// The shape as read, before data are.
Tensor read_matrix(const Dataset& dataset, bool transpose, std::vector<std::string>& notes) {
  const std::size_t rank = dataset.shape.size();
  if (rank == 0) refuse(dataset, "is a single number, samples [M, D] are needed");
  if (rank > 2)
    refuse(dataset, fmt::format("has shape [{}], samples [M, D] are needed; join the leading axes first, in h5py: "
                                "f['flat'] = x[:n].reshape(-1, x.shape[-1]) with the n steps that were run",
                                fmt::join(dataset.shape, ", ")));
  if (dataset.count() == 0) refuse(dataset, fmt::format("has shape [{}]: it is empty", fmt::join(dataset.shape, ", ")));
  Tensor samples = read_doubles(dataset, transpose || is_matlab(dataset));
  if (rank == 1) {
    notes.push_back(fmt::format("{} has one axis: read as {} samples of dimension 1", dataset.where, samples.size(0)));
    samples = samples.unsqueeze(1);
  } else if (is_matlab(dataset)) {
    samples = samples.t();
    notes.push_back(
        fmt::format("{} was written by MATLAB, which stores axes reversed: read as {}", dataset.where, shape_text(samples)));
  }
  if (transpose) samples = samples.t();
  samples = samples.contiguous();
  if (!transpose && samples.size(0) < samples.size(1))
    notes.push_back(
        fmt::format("{} is read as {} samples of dimension {}; if it is stored as [D, M], set target.transpose: true",
                    dataset.where, samples.size(0), samples.size(1)));
  return samples;
}

std::string data_digest(const Tensor& samples, const Tensor& weights) {
  static_assert(std::endian::native == std::endian::little, "digests are defined over little-endian bytes");
  Digest digest;
  digest.update(shape_text(samples)).update(samples.const_data_ptr(), samples.nbytes());
  if (weights.defined()) digest.update(shape_text(weights)).update(weights.const_data_ptr(), weights.nbytes());
  return digest.hex();
}

std::vector<std::int64_t> reversed_axes(std::int64_t rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

/// "[5, 1]" of a flat index.
std::vector<std::int64_t> unravel(std::int64_t index, at::IntArrayRef shape) {
  std::vector<std::int64_t> result(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) result[axis] = index % shape[axis];
  return result;
}

}  // namespace

SampleFile read_samples(const DataRef& ref, const SampleOptions& options) {
  const Reader file(ref.file);
  const Dataset dataset = file.dataset(ref.dataset.empty() ? only_candidate(file) : ref.dataset);
  check_numbers(dataset);
  SampleFile result;
  result.dataset = dataset.path;
  result.samples = read_matrix(dataset, options.transpose, result.notes);
  check_fill(dataset, result.samples);
  check_samples(result.samples, dataset.where, result.notes);
  result.names = read_names(file, result.dataset, result.samples.size(1));
  if (!options.weights.empty()) result.weights = read_weights(file, options.weights, result.samples.size(0));
  result.digest = data_digest(result.samples, result.weights);
  return result;
}

Tensor read_array(const DataRef& ref, std::map<std::string, double>* attributes) {
  const Reader file(ref.file);
  const Dataset dataset = file.dataset(ref.dataset.empty() ? only_candidate(file) : ref.dataset);
  check_numbers(dataset);
  Tensor values;
  if (dataset.info.family == Family::floating && dataset.info.size <= 4) {
    hdf5::check_memory(dataset, 4);
    hdf5::check_storage(dataset);
    values = hdf5::read(dataset, at::kFloat);
  } else {
    values = read_doubles(dataset, is_matlab(dataset));
  }
  if (is_matlab(dataset)) values = at::permute(values, reversed_axes(values.dim())).contiguous();
  if (const Marked bad = first_non_finite(values); bad.rows > 0)
    refuse(dataset, fmt::format("has {} numbers that are not finite, the first at [{}]", bad.rows,
                                fmt::join(unravel(bad.first, values.sizes()), ", ")));
  if (attributes != nullptr) {
    const hdf5::Handle root = file.object("/");
    for (const std::string& name : hdf5::attribute_names(root))
      if (const auto value = hdf5::number_attribute(root, name)) (*attributes)[name] = *value;
  }
  return values;
}

void write_samples(const std::filesystem::path& file, const Tensor& samples, const Tensor& weights,
                   const std::vector<std::string>& names, const SampleAttributes& attributes) {
  const std::int64_t bytes = static_cast<std::int64_t>(samples.nbytes()) + samples.size(0) * 8 + (1 << 16);
  replace_file(file, [&](const std::filesystem::path& temporary) {
    hdf5::Writer out(temporary, file, {.reserve = bytes});
    for (const auto& [name, text] : attributes.texts) out.attribute("/", name, text);
    for (const auto& [name, number] : attributes.numbers) out.attribute("/", name, number);
    out.tensor("/samples", samples);
    out.tensor("/weights", weights.defined()
                               ? weights
                               : at::full({samples.size(0)}, 1.0 / static_cast<double>(samples.size(0)), at::kDouble));
    if (!names.empty()) out.texts("/names", names);
    out.close();
    if (!at::equal(hdf5::read(Reader(temporary).dataset("/samples"), samples.scalar_type()), samples.detach().to(at::kCPU)))
      throw IoError(fmt::format("cannot write {}: what was written reads back wrong", file.string()));
  });
}

}  // namespace gaussflow::io
