#include "gaussflow/core/error.hpp"

#include "text.hpp"
#include "yaml.hpp"

#include <fmt/format.h>

namespace gaussflow::config {

namespace {

constexpr std::size_t size_limit = 1 << 20;

[[noreturn]] void fail(const Source& source, std::size_t line, std::size_t column, const std::string& message,
                       const std::string& hint) {
  Diagnostics diagnostics;
  const auto shared = std::make_shared<const Source>(source);
  diagnostics.error({shared, static_cast<int>(line), static_cast<int>(column), 1}, message, hint);
  diagnostics.throw_if_any();
  std::abort();  // not reached: there is an error
}

void split_lines(const std::string& text, Source& source) {
  source.lines.clear();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    source.lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

void check_encoding(const std::string& text, const Source& source) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw ConfigError(source.name + " is UTF-16: save it as UTF-8");
  const bool wide =
      text.size() >= 4 && (text[0] == '\0' || text[1] == '\0') && text.find_first_not_of('\0') != std::string::npos;
  if (wide) throw ConfigError(source.name + " is not UTF-8 (UTF-16 or a binary file?): save it as UTF-8");
  for (std::size_t number = 0; number < source.lines.size(); ++number) {
    const std::string& line = source.lines[number];
    std::size_t column = 1;
    for (std::size_t at = 0; at < line.size(); ++column) {
      const std::size_t length = utf8_length(line, at);
      const auto byte = static_cast<unsigned char>(line[at]);
      if (length == 0)
        fail(source, number + 1, column, fmt::format("byte 0x{:02x} is not UTF-8", byte), "save the file as UTF-8");
      if (byte == 0) fail(source, number + 1, column, "a NUL byte", "is this a text file?");
      if (byte == '\r') fail(source, number + 1, column, "a carriage return inside a line", "end lines with LF or CRLF");
      if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
        fail(source, number + 1, column, fmt::format("control character 0x{:02x}", byte), "remove it");
      at += length;
    }
  }
}

/// yaml-cpp drops unknown directives without a word, and reads some tabs as spaces.
void check_layout(const Source& source) {
  bool head = true;
  for (std::size_t number = 0; number < source.lines.size(); ++number) {
    const std::string& line = source.lines[number];
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') continue;
    const std::size_t tab = line.find('\t');
    if (tab < first) fail(source, number + 1, tab + 1, "a tab in the indentation", "indent with spaces");
    if (head && line[0] == '%') {
      if (!line.starts_with("%YAML "))
        fail(source, number + 1, 1, "a directive", "only %YAML is accepted; quote a text that starts with %");
    } else {
      head = false;
    }
  }
}

}  // namespace

std::string checked_text(std::string text, Source& source) {
  if (text.size() > size_limit)
    throw ConfigError(fmt::format("{} has {} bytes: a config has at most {} (1 MiB)", source.name, text.size(), size_limit));
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') plain += text[i];
  split_lines(plain, source);
  check_encoding(plain, source);
  check_layout(source);
  return plain;
}

}  // namespace gaussflow::config
