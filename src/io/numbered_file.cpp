#include "io/numbered_file.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace gaussflow::io {

std::string numbered_name(const std::string& prefix, std::int64_t number) {
  return fmt::format("{}{:012}.h5", prefix, number);
}

std::vector<NumberedFile> numbered_files(const std::filesystem::path& directory, const std::string& prefix) {
  std::vector<NumberedFile> found;
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() <= prefix.size() + 3 || !name.starts_with(prefix) || !name.ends_with(".h5")) continue;
    std::int64_t number = 0;
    const char* const end = name.data() + name.size() - 3;
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end && number >= 0) found.push_back({number, entry->path()});
  }
  // Not "none": a run would start afresh over checkpoints that it was not allowed to see.
  if (error && error != std::errc::no_such_file_or_directory)
    throw IoError(fmt::format("cannot list {}: {}", directory.string(), error.message()));
  std::sort(found.begin(), found.end());
  return found;
}

std::string put_aside(const std::filesystem::path& file, const std::string& why) {
  const std::string name = file.filename().string();
  std::error_code error;
  std::filesystem::rename(file, file.string() + ".bad", error);
  return error ? fmt::format("{} does not verify ({}); passed over, it cannot be renamed: {}", name, why, error.message())
               : fmt::format("{} does not verify ({}); kept as {}.bad", name, why, name);
}

}  // namespace gaussflow::io
