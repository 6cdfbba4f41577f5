#pragma once
/// Plain arrays by name, what `gaussflow sum` reads and writes.

#include "gaussflow/core/tensor.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace gaussflow::io {

/// Is `path` a dataset in `file`, or a link that should lead to one (read_array then says why it does not)?
/// Throws  InputError when the file itself cannot be read.
bool has_dataset(const std::filesystem::path& file, const std::string& path);

/// Writes arrays under their paths with root attributes, atomically.   Throws IoError.
void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts);

}  // namespace gaussflow::io
