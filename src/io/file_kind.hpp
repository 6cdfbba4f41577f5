#pragma once
#include "gaussflow/io/durable.hpp"

namespace gaussflow::io {

/// What the first bytes of a file say that it is, as far as messages and `import` need to know.
enum class FileKind { empty, text, npy, zip, old_matlab, other };

FileKind file_kind(const Descriptor& file);

}  // namespace gaussflow::io
