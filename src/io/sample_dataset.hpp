#pragma once
/// Which dataset of a file holds the samples, what lies beside it, and the numbers of one. All errors are InputError.

#include "gaussflow/core/data_ref.hpp"

#include "io/hdf5_reader.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussflow::io {

/// The one that `ref` names, else /samples, else the only one that could be meant.
hdf5::Dataset named_dataset(const hdf5::Reader& file, const DataRef& ref);

/// What lies beside a dataset under `name`, if it can be opened: nobody has asked for it.
std::optional<hdf5::Dataset> neighbour(const hdf5::Reader& file, const std::string& path, const std::string& name);

/// Names of the columns beside the samples, empty unless they fit.
std::vector<std::string> read_names(const hdf5::Reader& file, const std::string& path, std::int64_t dim);

/// The numbers in fp64, axes as stored; integers that fp64 cannot hold are refused. `copied`: the caller will make a copy.
Tensor read_doubles(const hdf5::Dataset& dataset, bool copied = false);

/// What read_array returns of it.
Tensor read_numbers(const hdf5::Dataset& dataset);

}  // namespace gaussflow::io
