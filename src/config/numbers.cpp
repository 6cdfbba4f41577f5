#include "gaussflow/config/value.hpp"
#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <tuple>

namespace gaussflow::config {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal number taken apart: digits without underscores.
struct Decimal {
  bool negative = false;
  std::string whole;  ///< digits before the point; may be empty
  bool point = false;
  std::string fraction;  ///< digits behind it; may be empty
  bool has_exponent = false;
  std::string exponent;  ///< digits with their sign
};

/// Reads digits with single underscores between them; nullopt when an underscore stands elsewhere.
std::optional<std::string> read_digits(std::string_view text, std::size_t& at) {
  std::string digits;
  while (at < text.size() && (digit(text[at]) || text[at] == '_')) {
    if (text[at] == '_') {
      if (digits.empty() || text[at - 1] == '_' || at + 1 == text.size() || !digit(text[at + 1])) return std::nullopt;
    } else {
      digits += text[at];
    }
    ++at;
  }
  return digits;
}

/// [-+] digits [. digits] [e [-+] digits] without leading zeros, the whole text.
std::optional<Decimal> split(std::string_view text) {
  Decimal number;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) number.negative = text[at++] == '-';
  const auto whole = read_digits(text, at);
  if (!whole) return std::nullopt;
  number.whole = *whole;
  if (number.whole.size() > 1 && number.whole.front() == '0') return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    number.point = true;
    const auto fraction = read_digits(text, ++at);
    if (!fraction) return std::nullopt;
    number.fraction = *fraction;
  }
  if (number.whole.empty() && number.fraction.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    number.has_exponent = true;
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
      if (text[at] == '-') number.exponent += '-';
      ++at;
    }
    const std::size_t first = at;
    while (at < text.size() && digit(text[at])) number.exponent += text[at++];
    if (at == first) return std::nullopt;
  }
  return at == text.size() ? std::optional(number) : std::nullopt;
}

template <class N>
std::optional<N> converted(const std::string& digits) {
  N value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(value) : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

constexpr std::array<std::pair<char, double>, 4> units{{{'d', 86400.0}, {'h', 3600.0}, {'m', 60.0}, {'s', 1.0}}};

}  // namespace

std::optional<std::int64_t> parse_integer(const std::string& text) {
  const std::optional<Decimal> number = split(text);
  if (!number || number->whole.empty() || (number->point && !number->has_exponent)) return std::nullopt;
  std::string digits = number->whole + number->fraction;
  if (number->has_exponent) {
    const std::optional<int> exponent = converted<int>(number->exponent);
    const bool zero = digits.find_first_not_of('0') == std::string::npos;
    if (!exponent || *exponent < 0 || (*exponent > 18 && !zero)) return std::nullopt;
    const auto fraction = static_cast<int>(number->fraction.size());
    if (zero)
      digits.assign(1, '0');
    else if (*exponent >= fraction)
      digits.append(static_cast<std::size_t>(*exponent - fraction), '0');
    else if (digits.find_first_not_of('0', number->whole.size() + static_cast<std::size_t>(*exponent)) != std::string::npos)
      return std::nullopt;  // 1.55e1
    else
      digits.resize(number->whole.size() + static_cast<std::size_t>(*exponent));
  }
  return converted<std::int64_t>(number->negative ? digits.insert(0, 1, '-') : digits);
}

std::optional<double> parse_number(const std::string& text) {
  const std::optional<Decimal> number = split(text);
  if (!number) return std::nullopt;
  const std::string plain =
      fmt::format("{}{}.{}e{}", number->negative ? "-" : "", number->whole.empty() ? "0" : number->whole,
                  number->fraction.empty() ? "0" : number->fraction, number->has_exponent ? number->exponent : "0");
  return converted<double>(plain);  // from_chars: no locale, and out of range (1e999, 1e-999) is an error
}

std::optional<bool> parse_boolean(const std::string& text) {
  for (const auto& [word, value] :
       {std::pair{"true", true}, {"yes", true}, {"on", true}, {"false", false}, {"no", false}, {"off", false}}) {
    std::string title = word, upper = word;
    title[0] = static_cast<char>(title[0] - 32);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return static_cast<char>(c - 32); });
    if (text == word || text == title || text == upper) return value;
  }
  return std::nullopt;
}

std::optional<double> parse_duration(const std::string& text) {
  if (const auto seconds = parse_number(text)) return *seconds >= 0 ? seconds : std::nullopt;
  double total = 0;
  std::size_t unit = 0;  // units descend, each at most once
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (digit(text[end]) || text[end] == '.' || text[end] == '_')) ++end;
    if (end + 1 < text.size() && text[end] == 'e') {  // 1e-3s
      ++end;
      if (text[end] == '-' || text[end] == '+') ++end;
      while (end < text.size() && digit(text[end])) ++end;
    }
    const std::optional<double> count = parse_number(text.substr(at, end - at));
    if (!count || end == text.size()) return std::nullopt;
    while (unit < units.size() && units[unit].first != text[end]) ++unit;
    if (unit == units.size()) return std::nullopt;
    total += *count * units[unit++].second;
    at = end + 1;
  }
  return text.empty() || !std::isfinite(total) ? std::nullopt : std::optional(total);
}

std::string duration_config_text(double seconds) {
  if (seconds != std::floor(seconds) || seconds >= 1e9 || seconds < 1) return number_text(seconds) + "s";
  std::string text;
  auto rest = static_cast<long long>(seconds);
  for (const auto& [letter, size] : units) {
    const long long count = rest / static_cast<long long>(size);
    if (count > 0) text += fmt::format("{}{}", count, letter);
    rest -= count * static_cast<long long>(size);
  }
  return text;
}

std::optional<Interval> parse_interval(const std::string& text) {
  if (text == "never") return Interval{};
  std::string_view count = text;
  for (const std::string_view word : {"steps", "step"})
    if (count.ends_with(word)) {
      count.remove_suffix(word.size());
      if (count.ends_with(' ')) count.remove_suffix(1);
      break;
    }
  if (const auto steps = parse_integer(std::string(count)))
    return *steps >= 1 ? std::optional(Interval{.steps = steps, .seconds = {}}) : std::nullopt;
  if (count.size() != text.size() || parse_number(text)) return std::nullopt;  // "5m steps", and 2.5 of what?
  const auto seconds = parse_duration(text);
  return seconds && *seconds > 0 ? std::optional(Interval{.steps = {}, .seconds = seconds}) : std::nullopt;
}

std::string interval_text(const Interval& interval) {
  if (interval.steps) return fmt::format("{}steps", *interval.steps);
  return interval.seconds ? duration_config_text(*interval.seconds) : "never";
}

std::string number_hint(const std::string& text, bool integer) {
  const std::string word = lower(text);
  const std::string_view unsigned_word =
      word.starts_with('-') || word.starts_with('+') ? std::string_view(word).substr(1) : word;
  const auto only = [&](std::string_view allowed) {
    return unsigned_word.find_first_not_of(allowed) == std::string_view::npos;
  };
  if (unsigned_word.empty()) return "";
  if (unsigned_word == ".nan" || unsigned_word == "nan" || unsigned_word == ".inf" || unsigned_word == "inf" ||
      unsigned_word == "infinity")
    return "only finite numbers";
  if (unsigned_word.starts_with("0x") || unsigned_word.starts_with("0o") || unsigned_word.starts_with("0b"))
    return "write it in decimal";
  if (only("0123456789_.") && unsigned_word.size() > 1 && unsigned_word.front() == '0' && digit(unsigned_word[1])) {
    const std::size_t first = std::min(unsigned_word.find_first_not_of('0'), unsigned_word.size() - 1);
    return fmt::format("YAML 1.1 reads a leading 0 as octal: write {}", unsigned_word.substr(first));
  }
  if (digit(unsigned_word.front()) && only("0123456789.,") && unsigned_word.find(',') != std::string_view::npos)
    return integer ? "write 20000 or 20_000" : "decimals are written with a point, as in 0.5";
  if (const std::optional<Decimal> number = split(text)) {
    if (!integer) return "too large or too small for a 64-bit float";
    if (number->point || number->exponent.starts_with('-')) return "a whole number is needed";
    return fmt::format("the largest integer is {}", std::numeric_limits<std::int64_t>::max());
  }
  return "";
}

}  // namespace gaussflow::config
