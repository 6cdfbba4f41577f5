#include "notation.hpp"

#include "text.hpp"

#include <algorithm>

namespace gaussflow::config {

namespace {

/// Where the word at `at` and the blanks behind it end.
std::size_t behind_word(std::string_view text, std::size_t at) {
  at = std::min(text.find_first_of(" \t\n", at), text.size());
  return std::min(text.find_first_not_of(" \t\n", at), text.size());
}

/// Inside quotes '' is a quote in '…', and \ takes the next character along in "…".
bool closed(std::string_view text, std::size_t start) {
  const char quote = text[start];
  for (std::size_t at = start + 1; at < text.size(); ++at) {
    const bool pair = quote == '"' ? text[at] == '\\' : text.substr(at, 2) == "''";
    if (pair)
      ++at;
    else if (text[at] == quote)
      return true;
  }
  return false;
}

}  // namespace

std::optional<NotationFault> notation_fault(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '&') at = behind_word(text, at);
  if (at >= text.size()) return std::nullopt;
  switch (text[at]) {
    case '"':
    case '\'':  // yaml-cpp lets such a quote swallow the rest of a file that ends with a line break
      if (!closed(text, at)) return NotationFault{"a quote that is never closed", "close it"};
      break;
    case '|':
    case '>':  // yaml-cpp takes the text for a comment
      at = text.find_first_not_of("|>+-0123456789", at);
      if (at != std::string_view::npos && text[at] == '#')
        return NotationFault{"a text right behind | or >", "start it on the next line"};
      break;
    case '!':
      return NotationFault{"tag !: tags are not accepted", "quote a text; leave the tag out otherwise"};
    default:
      break;
  }
  return std::nullopt;
}

std::optional<NotationFault> value_fault(std::string_view value) {
  for (std::size_t at = 0; at < value.size();) {
    const std::size_t length = utf8_length(value, at);
    if (length == 0) return NotationFault{"an escape that is not accepted", "\\_ and \\N are not: write the character"};
    if (value[at] == '\0') return NotationFault{"a NUL character", "remove it"};
    at += length;
  }
  return std::nullopt;
}

}  // namespace gaussflow::config
