#include "io/sample_dataset.hpp"

#include "gaussflow/core/error.hpp"

#include "io/numbers.hpp"
#include "io/sample_checks.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <numeric>

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

std::vector<std::int64_t> reversed_axes(std::int64_t rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
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

Tensor read_doubles(const Dataset& dataset, bool copied) {
  const bool wide = dataset.info.family == Family::integer && dataset.info.size >= 8;
  hdf5::check_memory(dataset, 8, wide || copied ? 2 : 1);
  hdf5::check_storage(dataset);
  if (!wide) return hdf5::read(dataset, at::kDouble);
  return exact_doubles(hdf5::read_integers(dataset), dataset.info.is_signed, dataset.where);
}

Tensor read_numbers(const Dataset& dataset) {
  check_numbers(dataset);
  Tensor values;
  if (dataset.info.family == Family::floating && dataset.info.size <= 4) {
    hdf5::check_memory(dataset, 4);
    hdf5::check_storage(dataset);
    values = hdf5::read(dataset, at::kFloat);
  } else {
    values = read_doubles(dataset, has_reversed_axes(dataset));
  }
  if (has_reversed_axes(dataset)) values = at::permute(values, reversed_axes(values.dim())).contiguous();
  if (const Marked bad = first_non_finite(values); bad.rows > 0)
    throw InputError(fmt::format("{} has {} of {} numbers that are not finite, the first at {}", dataset.where, bad.rows,
                                 values.numel(), place(bad.first, values.sizes())));
  return values;
}

}  // namespace gaussflow::io
