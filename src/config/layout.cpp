#include "text.hpp"
#include "yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussflow::config {

namespace {

constexpr std::size_t size_limit = 1 << 20;

std::string without_mark_and_cr(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') plain += text[i];
  return plain;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Checks line by line; stops at the first fault, since the rest of a binary file says nothing.
class Layout {
 public:
  Layout(std::shared_ptr<const Source> source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(diagnostics) {}

  bool check() {
    for (const std::string& line : source_->lines) {
      ++number_;
      if (!check_characters(line) || !check_indentation(line) || !check_brackets(line)) return false;
    }
    return true;
  }

 private:
  bool fault(int column, const std::string& message, const std::string& hint) {
    diagnostics_.error({source_, number_, column, 1}, message, hint);
    return false;
  }

  bool check_characters(const std::string& line) {
    int column = 1;
    for (std::size_t at = 0; at < line.size(); ++column) {
      const std::size_t length = utf8_length(line, at);
      const auto byte = static_cast<unsigned char>(line[at]);
      if (length == 0) return fault(column, fmt::format("byte 0x{:02x} is not UTF-8", byte), "save the file as UTF-8");
      if (byte == 0) return fault(column, "a NUL byte", "is this a text file?");
      if (byte == '\r') return fault(column, "a carriage return inside a line", "end lines with LF or CRLF");
      // yaml-cpp takes 0x04 for the end of the file.
      if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
        return fault(column, fmt::format("control character 0x{:02x}", byte), "remove it");
      // Line breaks to some YAML readers and text to others.
      const std::string_view character = std::string_view(line).substr(at, length);
      if (character == "\u2028" || character == "\u2029" ||
          (length == 2 && byte == 0xC2 && static_cast<unsigned char>(line[at + 1]) < 0xA0))
        return fault(column, fmt::format("control character {}", printable(character)), "remove it");
      at += length;
    }
    return true;
  }

  /// yaml-cpp drops lines that start with % (`%seed: 1`), wherever they stand, and takes some tabs for spaces.
  bool check_indentation(const std::string& line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos || line[first] == '#') return true;
    const std::size_t tab = line.find('\t');
    if (tab < first) return fault(static_cast<int>(tab) + 1, "a tab in the indentation", "indent with spaces");
    if (line[0] == '%')
      return (head_ && line.starts_with("%YAML ")) ||
             fault(1, "a line that starts with %", "YAML keeps these to itself: quote the text");
    head_ = false;
    return true;
  }

  /// yaml-cpp looks ahead over all of a nest of brackets before it reports the first, at 200 bytes a bracket. Brackets in
  /// comments and texts count too, hence a bound far above the depth that TreeBuilder allows.
  bool check_brackets(const std::string& line) {
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (line[at] == '[' || line[at] == '{') ++open_brackets_;
      if (line[at] == ']' || line[at] == '}') open_brackets_ = std::max(0, open_brackets_ - 1);
      if (open_brackets_ > 1000) return fault(static_cast<int>(at) + 1, "nested deeper than 32 levels", "");
    }
    return true;
  }

  std::shared_ptr<const Source> source_;
  Diagnostics& diagnostics_;
  int open_brackets_ = 0;
  int number_ = 0;
  bool head_ = true;  ///< directives stand only before the document
};

}  // namespace

std::optional<CheckedText> check_text(const std::string& text, Source source, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& message) {
    diagnostics.error({std::make_shared<const Source>(std::move(source))}, message);
    return std::nullopt;
  };
  if (text.size() > size_limit) return refuse("larger than 1 MiB, more than a config may have");
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                     (text.size() >= 2 && (text[0] == '\0') != (text[1] == '\0'));
  if (utf16) return refuse("this is UTF-16 or no text: save it as UTF-8");
  CheckedText checked{without_mark_and_cr(text), nullptr};
  source.lines = split_lines(checked.text);
  checked.source = std::make_shared<const Source>(std::move(source));
  if (!Layout(checked.source, diagnostics).check()) return std::nullopt;
  return checked;
}

}  // namespace gaussflow::config
