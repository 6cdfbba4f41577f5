#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gaussflow {

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

namespace {

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

std::string escaped(std::string_view text, std::size_t limit, bool keep_lines) {
  std::string result;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size(); ++shown) {
    if (shown == limit) return result + "…";
    const std::size_t length = utf8_length(text, at);
    const std::string_view character = text.substr(at, std::max<std::size_t>(1, length));
    const auto byte = static_cast<unsigned char>(character.front());
    if (character == "\n")
      result += keep_lines ? "\n" : "\\n";
    else if (character == "\t")
      result += keep_lines ? "\t" : "\\t";
    else if (length == 0 || byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += invisible(character) ? code_point(character) : std::string(character);
    at += character.size();
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) { return escaped(text, limit, false); }

std::string printable_lines(std::string_view text) { return escaped(text, std::numeric_limits<std::size_t>::max(), true); }

}  // namespace gaussflow
