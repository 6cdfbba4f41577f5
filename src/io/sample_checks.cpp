#include "io/sample_checks.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace gaussflow::io {

namespace {

[[noreturn]] void refuse(const hdf5::Dataset& dataset, const std::string& why) {
  throw InputError(fmt::format("{} {}", dataset.where, why));
}

}  // namespace

void check_numbers(const hdf5::Dataset& dataset) {
  if (!dataset.info.numeric())
    refuse(dataset, fmt::format("holds {}, numbers are needed: {}", dataset.info.name, dataset.info.advice));
  if (dataset.null) refuse(dataset, "has a null dataspace: it holds no numbers at all");
  if (hdf5::number_attribute(dataset.id, "MATLAB_empty").value_or(0) != 0) refuse(dataset, "is an empty MATLAB array");
  for (const auto& [name, neutral] : {std::pair{"scale_factor", 1.0}, std::pair{"add_offset", 0.0}})
    if (const auto value = hdf5::number_attribute(dataset.id, name); value && *value != neutral)
      refuse(dataset, fmt::format("is packed ({} = {}): what is stored are not the values; unpack it first", name, *value));
}

void check_matrix(const hdf5::Dataset& dataset) {
  const std::string shape = fmt::format("[{}]", fmt::join(dataset.shape, ", "));
  if (dataset.shape.empty()) refuse(dataset, "is a single number, samples [M, D] are needed");
  if (dataset.shape.size() > 2)
    refuse(dataset, fmt::format("has shape {}, samples [M, D] are needed; join the leading axes first, in h5py: "
                                "f['flat'] = x[:n].reshape(-1, x.shape[-1]) with the n steps that were run",
                                shape));
  if (dataset.count() == 0) refuse(dataset, fmt::format("has shape {}: it is empty", shape));
}

bool has_reversed_axes(const hdf5::Dataset& dataset) {
  return dataset.shape.size() > 1 && H5Aexists(dataset.id, "MATLAB_class") > 0;
}

}  // namespace gaussflow::io
