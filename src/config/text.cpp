#include "text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace gaussflow::config {

namespace {

/// Characters [first, first + count) of a line as they are shown: one column each, so that the caret stands right.
std::vector<std::string> shown_characters(std::string_view line, std::size_t first, std::size_t count) {
  std::vector<std::string> shown;
  for (std::size_t at = 0, index = 0; at < line.size() && shown.size() < count; ++index) {
    const std::string_view character = line.substr(at, std::max<std::size_t>(1, utf8_length(line, at)));
    at += character.size();
    if (index < first) continue;
    const std::string escaped = printable(character);
    shown.emplace_back(character == "\t" ? " " : escaped == character ? escaped : "?");
  }
  return shown;
}

}  // namespace

int character_count(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string place_text(const Mark& mark) {
  if (!mark.source) return "";
  const std::string name = printable(mark.source->name, 200);
  if (mark.source->flag || mark.line == 0) return name;
  return fmt::format("{}:{}:{}", name, mark.line, mark.column);
}

std::string excerpt(const Mark& mark, const std::string& hint) {
  if (!mark.source || mark.line < 1 || mark.line > static_cast<int>(mark.source->lines.size()))
    return hint.empty() ? "" : "\n        " + hint;
  constexpr std::size_t width = 100;  // a long line is shown around the caret
  const auto column = static_cast<std::size_t>(std::max(mark.column - 1, 0));
  const std::size_t first = column > width - 20 ? column - width / 2 : 0;
  std::vector<std::string> line =
      shown_characters(mark.source->lines[static_cast<std::size_t>(mark.line) - 1], first, width + 1);
  const bool longer = line.size() > width;
  if (longer) line.resize(width);
  const std::size_t caret = column - first;
  const std::size_t room = line.size() > caret ? line.size() - caret : 1;
  const std::size_t length = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(mark.length, 1)), 1, room);
  const std::string number = mark.source->flag ? "" : std::to_string(mark.line);
  return fmt::format("\n{:>5} | {}{}{}\n{:>5} | {:{}}^{:~<{}}{}{}", number, first > 0 ? "…" : "", fmt::join(line, ""),
                     longer ? "…" : "", "", "", caret + (first > 0 ? 1 : 0), "", length - 1, hint.empty() ? "" : " ", hint);
}

}  // namespace gaussflow::config
