#pragma once
/// The two formats behind read_table.

#include "gaussflow/io/sample_file.hpp"

#include <string>
#include <string_view>

namespace gaussflow::io {

/// A text table. `where` names the file in messages.
SampleFile parse_text_table(std::string_view text, const std::string& where, const SampleOptions& options);

/// The contents of a .npy file.
SampleFile parse_npy(std::string_view bytes, const std::string& where, const SampleOptions& options);

}  // namespace gaussflow::io
