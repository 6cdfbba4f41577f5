#include "gaussflow/config/section.hpp"
#include "gaussflow/core/text.hpp"

#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gaussflow::config {

namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Would every YAML reader, 1.1 ones included, take this plain scalar as the same text?
bool safe_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  if (!letter(text.front()) && !digit(text.front()) && text.front() != '/' && text.front() != '_' && text.front() != '.')
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!letter(c) && !digit(c) && std::string_view("_./-+: ()*^=@").find(c) == std::string_view::npos) return false;
    if (c == ' ' && i > 0 && text[i - 1] == ':') return false;
  }
  if (parse_boolean(text) || parse_number(text)) return false;
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  for (const char* word : {"null", "y", "n", ".nan", ".inf", "..."})
    if (lower == word) return false;
  // Dates, times, octal and hexadecimal numbers of YAML 1.1.
  return !(digit(text.front()) || text.front() == '.') ||
         text.find_first_not_of("0123456789abcdefABCDEFxXoO_.:+-") != std::string::npos;
}

/// Control characters and line separators, which parse_yaml refuses as such, are escaped.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = std::string_view(text).substr(at, std::max<std::size_t>(1, utf8_length(text, at)));
    const auto byte = static_cast<unsigned char>(character.front());
    if (character == "\"" || character == "\\")
      result += '\\', result += character;
    else if (character == "\n")
      result += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xC2 && character.size() == 2 && static_cast<unsigned char>(character[1]) < 0xA0)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(character[1]));
    else if (character == "\u2028" || character == "\u2029")
      result += character == "\u2028" ? "\\u2028" : "\\u2029";
    else
      result += character;
    at += character.size();
  }
  return result + '"';
}

std::string text(const std::string& value) { return safe_plain(value) ? value : quoted(value); }

/// With a point, since YAML 1.1 readers take 1e-30 for a text.
std::string number(double value) {
  if (!std::isfinite(value)) throw std::logic_error("a config value that is not finite");
  std::string digits = number_text(value);
  const std::size_t exponent = digits.find('e');
  if (exponent != std::string::npos && digits.find('.') == std::string::npos) digits.insert(exponent, ".0");
  return digits;
}

bool collection(const Json& json) { return json.is_structured() && !json.empty(); }
bool flat(const Json& json) {
  return !json.is_object() && std::all_of(json.begin(), json.end(), [](const Json& item) {
    return !item.is_structured() || (item.is_array() && flat(item));
  });
}

std::string flow(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null:
      return "auto";
    case Json::value_t::boolean:
      return json.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
      return fmt::format("{}", json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return fmt::format("{}", json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return number(json.get<double>());
    case Json::value_t::string:
      return text(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::string items;
      for (const Json& item : json) items += (items.empty() ? "" : ", ") + flow(item);
      return "[" + items + "]";
    }
    case Json::value_t::object: {
      std::string items;
      for (const auto& [key, value] : json.items()) items += (items.empty() ? "" : ", ") + text(key) + ": " + flow(value);
      return "{" + items + "}";
    }
    default:
      throw std::logic_error("a config value of no YAML kind");
  }
}

bool on_one_line(const Json& json) { return !collection(json) || (json.is_array() && flat(json)); }

void block(const Json& json, const std::string& indent, std::string& out) {
  const std::string deeper = indent + "  ";
  for (const auto& [key, value] : json.items()) {
    out += indent;
    if (json.is_object()) {
      out += text(key);
      out += ':';
      out += on_one_line(value) ? ' ' : '\n';
    } else {
      out += "- ";
    }
    if (on_one_line(value)) {
      out += flow(value);
      out += '\n';
    } else if (json.is_object()) {
      block(value, deeper, out);
    } else {  // the first line of an item stands behind its dash
      std::string item;
      block(value, deeper, item);
      out += item.substr(deeper.size());
    }
  }
}

}  // namespace

std::string to_yaml(const Json& json) {
  if (!collection(json)) return flow(json) + "\n";
  std::string out;
  block(json, "", out);
  return out;
}

std::string to_yaml_flow(const Json& json) { return flow(json); }

}  // namespace gaussflow::config
