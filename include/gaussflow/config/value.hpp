#pragma once
/// How one YAML value becomes a C++ value, strictly: Codec<V>::read, ::write, ::type, ::json_schema.
///
/// bool          true/false/yes/no/on/off, unquoted
/// int64_t       20000, 20_000, 2e4; no leading zeros, hex or commas
/// double        any decimal form; finite
/// std::string   any scalar
/// std::filesystem::path   relative to the source's directory; ~ is not expanded but refused
/// DataRef       FILE or FILE:/dataset
/// optional<V>   V, or the word `auto`, or left out
/// vector<V>     a list
/// enums with Names<E>   one of the words
/// Interval      5m, 30s, 2h or 1000steps (a bare integer means steps), or never

#include "gaussflow/config/node.hpp"
#include "gaussflow/core/data_ref.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow::config {

/// How often something happens: by steps, by seconds, or never (both empty).
struct Interval {
  std::optional<std::int64_t> steps;
  std::optional<double> seconds;
  bool operator==(const Interval&) const = default;
};
std::optional<Interval> parse_interval(const std::string& text);
std::string interval_text(const Interval& interval);

/// Strict numbers, the one place where text becomes a number (command line included); nullopt when it is not one.
std::optional<std::int64_t> parse_integer(const std::string& text);
std::optional<double> parse_number(const std::string& text);
std::optional<bool> parse_boolean(const std::string& text);
/// "3h30m", "90s", "5m", "1h"; a bare number is seconds.
std::optional<double> parse_duration(const std::string& text);

/// The words of an enum: `template <> struct Names<E> { static std::vector<std::pair<std::string, E>> list(); };`
template <class E>
struct Names;

template <class E>
std::string name_of(E value) {
  for (const auto& [name, e] : Names<E>::list())
    if (e == value) return name;
  return "?";
}

template <class V, class Enable = void>
struct Codec;

}  // namespace gaussflow::config
