#pragma once
/// Files named after a step, "ckpt-000000012000.h5", and what becomes of bad ones.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaussflow::io {

struct NumberedFile {
  std::int64_t number = 0;
  std::filesystem::path path;
  auto operator<=>(const NumberedFile&) const = default;
};

std::string numbered_name(const std::string& prefix, std::int64_t number);

/// The files PREFIX<number>.h5 of a folder, by number; none when there is no such folder.
/// Throws  IoError when it cannot be listed.
std::vector<NumberedFile> numbered_files(const std::filesystem::path& directory, const std::string& prefix);

/// Renames a bad file to *.bad and says so.
std::string put_aside(const std::filesystem::path& file, const std::string& why);

}  // namespace gaussflow::io
