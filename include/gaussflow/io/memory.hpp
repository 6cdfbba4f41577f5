#pragma once
#include <cstdint>

namespace gaussflow::io {

/// Bytes that can still be allocated: what the kernel calls available, within the limits of the control group and of
/// `ulimit -v`. INT64_MAX when nobody says.
std::int64_t available_memory();

}  // namespace gaussflow::io
