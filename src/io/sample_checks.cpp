#include "io/sample_checks.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include "io/numbers.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
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
      refuse(dataset, fmt::format("is packed ({} = {}): what is stored are not the values; unpack it first", name,
                                  number_text(*value)));
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

void check_fill(const hdf5::Dataset& dataset, const Tensor& rows, std::int64_t first) {
  for (const char* name : {"_FillValue", "missing_value"}) {
    const auto fill = hdf5::number_attribute(dataset.id, name);
    if (!fill || std::isnan(*fill)) continue;
    if (const Marked marked = rows_that_hold(rows, *fill, dataset.info.size == 4); marked.rows > 0)
      refuse(dataset, fmt::format("has {} of {} rows marked missing ({} = {}), the first is row {}; drop them first",
                                  marked.rows, rows.size(0), name, number_text(*fill), first + marked.first));
  }
}

void check_digest(const hdf5::Dataset& dataset, const Tensor& values) {
  const auto digest = hdf5::text_attribute(dataset.id, digest_name);
  if (digest && *digest != sample_digest(values, {}))
    refuse(dataset,
           fmt::format("is damaged: its numbers differ from its {}; if they were changed on purpose, delete that attribute",
                       digest_name));
}

std::string place(std::int64_t flat, at::IntArrayRef shape, std::size_t axis, std::int64_t first) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; flat /= shape[i]) index[i] = flat % shape[i];
  if (axis < index.size()) index[axis] += first;
  return index.size() == 2 ? fmt::format("row {}, column {}", index[0], index[1])
                           : fmt::format("[{}]", fmt::join(index, ", "));
}

bool has_reversed_axes(const hdf5::Dataset& dataset) {
  return dataset.shape.size() > 1 && H5Aexists(dataset.id, "MATLAB_class") > 0;
}

}  // namespace gaussflow::io
