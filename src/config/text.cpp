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

/// Shown but not seen, or able to reorder what is seen: soft hyphen, no-break space, zero width, bidirectional controls.
bool invisible(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 2) return byte(0) == 0xC2 && (byte(1) <= 0xA0 || byte(1) == 0xAD);
  if (character.size() != 3) return false;
  const unsigned code = (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
  return (code >= 0x2000 && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F) || (code >= 0x205F && code <= 0x206F) ||
         code == 0x3000 || code == 0xFEFF;
}

std::string code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  return character.size() == 2
             ? fmt::format("<U+{:04X}>", (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu))
             : fmt::format("<U+{:04X}>", (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu));
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
  const auto continued = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if ((byte(i) & 0xC0) != 0x80) return false;
    return true;
  };
  const unsigned lead = byte(0), second = byte(1);
  if (at >= text.size()) return 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continued(1, 2) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
    return continued(1, 3) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
    return continued(1, 4) ? 4 : 0;
  }
  return 0;
}

int character_count(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == limit) return result + "…";
    const std::size_t length = utf8_length(text, at);
    const std::string_view character = text.substr(at, std::max<std::size_t>(1, length));
    const auto byte = static_cast<unsigned char>(character.front());
    if (character == "\n")
      result += "\\n";
    else if (character == "\t")
      result += "\\t";
    else if (length == 0 || byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += invisible(character) ? code_point(character) : std::string(character);
    at += character.size();
  }
  return result;
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
