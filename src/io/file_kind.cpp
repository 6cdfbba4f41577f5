#include "io/file_kind.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace gaussflow::io {

FileKind file_kind(const Descriptor& file) {
  std::array<char, 256> bytes{};
  const ssize_t count = pread(file.value(), bytes.data(), bytes.size(), 0);
  const std::string_view head(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  if (head.empty()) return FileKind::empty;
  if (head.starts_with("\x93NUMPY")) return FileKind::npy;
  if (head.starts_with("PK\x03\x04")) return FileKind::zip;
  if (head.starts_with("MATLAB 5.0")) return FileKind::old_matlab;
  const bool text = std::none_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\r' && c != '\t';
  });
  return text ? FileKind::text : FileKind::other;
}

}  // namespace gaussflow::io
