#pragma once
/// The formats behind read_table and import_samples.

#include "gaussflow/io/sample_file.hpp"

#include <string>
#include <string_view>

namespace gaussflow::io {

/// A text table. `where` names the file in messages.
SampleFile parse_text_table(std::string_view text, const std::string& where, const SampleOptions& options);

/// The contents of a .npy file.
SampleFile parse_npy(std::string_view bytes, const std::string& where, const SampleOptions& options);

/// One array of a .npz file: the one that ref.dataset names, else `samples`, else the only one.
SampleFile read_npz(const DataRef& ref, const SampleOptions& options);

}  // namespace gaussflow::io
