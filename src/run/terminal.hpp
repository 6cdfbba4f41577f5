#pragma once
/// How wide what a person reads may be.

#include <cstddef>

namespace gaussflow::run {

/// Columns of the terminal behind a descriptor, or of COLUMNS where that is less; 80 where neither says.
std::size_t terminal_width(int descriptor);

}  // namespace gaussflow::run
