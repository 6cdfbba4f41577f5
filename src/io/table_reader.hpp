#pragma once
/// The formats behind read_table and import_samples.

#include "gaussflow/io/sample_file.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gaussflow::io {

/// A text table. `where` names the file in messages.
SampleFile parse_text_table(std::string_view text, const std::string& where, const SampleOptions& options);

/// The contents of a .npy file.
SampleFile parse_npy(std::string_view bytes, const std::string& where, const SampleOptions& options);

/// The same at any rank, in its own float width (integers as fp64): what read_array is to read_samples.
Tensor parse_npy_array(std::string_view bytes, const std::string& where);

/// The names of the arrays of a .npz file, and one of them.
std::vector<std::string> npz_names(const std::filesystem::path& file);
Tensor read_npz_array(const std::filesystem::path& file, const std::string& name);

/// One array of a .npz file: the one that ref.dataset names, else `samples`, else the only one.
SampleFile read_npz(const DataRef& ref, const SampleOptions& options);

}  // namespace gaussflow::io
