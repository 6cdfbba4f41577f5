#include "gaussflow/core/data_ref.hpp"

namespace gaussflow {

namespace {

std::filesystem::path from(const std::filesystem::path& directory, const std::string& file) {
  const std::filesystem::path path(file);
  return path.is_absolute() || directory.empty() ? path : (directory / path).lexically_normal();
}

}  // namespace

DataRef parse_data_ref(const std::string& text, const std::filesystem::path& directory) {
  std::error_code ignored;
  if (std::filesystem::exists(from(directory, text), ignored)) return {from(directory, text), ""};
  for (std::size_t colon = text.rfind(':'); colon != std::string::npos && colon > 0; colon = text.rfind(':', colon - 1)) {
    const std::filesystem::path file = from(directory, text.substr(0, colon));
    if (std::filesystem::exists(file, ignored)) return {file, text.substr(colon + 1)};
  }
  const std::size_t last = text.rfind(":/");
  if (last == std::string::npos || last == 0) return {from(directory, text), ""};
  return {from(directory, text.substr(0, last)), text.substr(last + 1)};
}

}  // namespace gaussflow
