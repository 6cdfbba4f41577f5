#include "io/sample_dataset.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>

namespace gaussflow::io {

namespace {

using hdf5::Dataset;
using hdf5::Family;
using hdf5::Reader;

/// Of any rank: beside a chain [steps, walkers, D] its log_prob [steps, walkers] is not "the only one".
bool is_candidate(const Dataset& dataset) { return dataset.info.numeric() && !dataset.null && !dataset.shape.empty(); }

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
  throw InputError(fmt::format(
      "{} has no /samples and {}; name one ({}:/path); {}", name,
      candidates.empty() ? "no other array of numbers" : fmt::format("{} datasets that could be meant", candidates.size()),
      name, file.contents()));
}

}  // namespace

hdf5::Dataset named_dataset(const Reader& file, const DataRef& ref) {
  return file.dataset(ref.dataset.empty() ? only_candidate(file) : ref.dataset);
}

std::optional<Dataset> neighbour(const Reader& file, const std::string& path, const std::string& name) {
  const std::string beside = path.substr(0, path.rfind('/') + 1) + name;
  if (beside == path || !file.has_dataset(beside)) return std::nullopt;
  try {
    return file.dataset(beside);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::vector<std::string> read_names(const Reader& file, const std::string& path, std::int64_t dim) {
  const auto names = neighbour(file, path, "names");
  if (!names || names->info.family != Family::text || names->shape != std::vector<std::int64_t>{dim}) return {};
  return hdf5::read_texts(*names, 1 << 20);
}

}  // namespace gaussflow::io
