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
/// vector<V>     a list; a bare V stands for a list of one
/// enums with Names<E>   one of the words
/// Interval      5m, 30s, 2h or 1000steps (a bare integer means steps), or never
/// Json          anything (`meta`), but every key needs a value

#include "gaussflow/config/node.hpp"
#include "gaussflow/core/data_ref.hpp"

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow::config {

using Json = nlohmann::ordered_json;

/// How often something happens: by steps, by seconds, or never (both empty).
struct Interval {
  std::optional<std::int64_t> steps;
  std::optional<double> seconds;
  bool operator==(const Interval&) const = default;
};
/// nullopt for anything else, 0 included: "every 0 steps" has no meaning.
std::optional<Interval> parse_interval(const std::string& text);
std::string interval_text(const Interval& interval);

/// Strict numbers, the one place where text becomes a number (command line included); nullopt when it is not one.
/// None depends on the locale, none saturates.
std::optional<std::int64_t> parse_integer(const std::string& text);
std::optional<double> parse_number(const std::string& text);
std::optional<bool> parse_boolean(const std::string& text);
/// "3h30m", "90s", "5m", "1h"; a bare number is seconds.
std::optional<double> parse_duration(const std::string& text);
std::string duration_config_text(double seconds);
/// Why a text that looks like a number is refused and what to write instead; may be empty.
std::string number_hint(const std::string& text, bool integer);

/// The numbers a key accepts.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false;  ///< min itself is excluded
  bool open_max = false;

  bool contains(double value) const {
    return (open_min ? value > min : value >= min) && (open_max ? value < max : value <= max);
  }
  std::string text() const;  ///< "> 0", "in [0, 1)"; empty when everything is allowed
};

/// The words of an enum: `template <> struct Names<E> { static std::vector<std::pair<std::string, E>> list(); };`
template <class E>
struct Names;

template <class E>
concept Named = requires {
  Names<E>::list();
};

template <class E>
std::string name_of(E value) {
  for (const auto& [name, e] : Names<E>::list())
    if (e == value) return name;
  return "?";
}

/// read(node, range, diagnostics, value)   reports at the node's mark, under diagnostics.path(); true and `value` set, or
///                                         false and `value` untouched
/// write(value)                            what reads back as the same value; null is the word auto
/// type(range), json_schema(range)         for people and for editors
template <class V, class Enable = void>
struct Codec {
  static_assert(!sizeof(V), "this type has no Codec: see the list at the head of value.hpp");
};

/// Reports "PATH must be WANTED, got …" at the node; a null says that the key has no value. Always false.
bool refuse(const Node& node, Diagnostics& diagnostics, const std::string& wanted, const std::string& hint = "");

template <>
struct Codec<bool> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, bool& value);
  static Json write(bool value) { return value; }
  static std::string type(const Range&) { return "true or false"; }
  static Json json_schema(const Range&) { return {{"type", "boolean"}}; }
};

template <>
struct Codec<std::int64_t> {
  static bool read(const Node& node, const Range& range, Diagnostics& diagnostics, std::int64_t& value);
  static Json write(std::int64_t value) { return value; }
  static std::string type(const Range& range);
  static Json json_schema(const Range& range);
};

template <>
struct Codec<double> {
  static bool read(const Node& node, const Range& range, Diagnostics& diagnostics, double& value);
  static Json write(double value) { return value; }
  static std::string type(const Range& range);
  static Json json_schema(const Range& range);
};

template <>
struct Codec<std::string> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, std::string& value);
  static Json write(const std::string& value) { return value; }
  static std::string type(const Range&) { return "text"; }
  static Json json_schema(const Range&) { return {{"type", Json::array({"string", "number", "boolean"})}}; }
};

template <>
struct Codec<std::filesystem::path> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, std::filesystem::path& value);
  static Json write(const std::filesystem::path& value) { return value.string(); }
  static std::string type(const Range&) { return "FILE"; }
  static Json json_schema(const Range&) { return {{"type", "string"}}; }
};

template <>
struct Codec<DataRef> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, DataRef& value);
  static Json write(const DataRef& value) { return value.text(); }
  static std::string type(const Range&) { return "FILE or FILE:/dataset"; }
  static Json json_schema(const Range&) { return {{"type", "string"}}; }
};

template <>
struct Codec<Interval> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, Interval& value);
  static Json write(const Interval& value) { return interval_text(value); }
  static std::string type(const Range&) { return "5m, 1000steps or never"; }
  static Json json_schema(const Range&);
};

template <>
struct Codec<Json> {
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, Json& value);
  static Json write(const Json& value) { return value; }
  static std::string type(const Range&) { return "anything"; }
  static Json json_schema(const Range&) { return Json::object(); }
};

/// The index of the word that the node holds.
std::optional<std::size_t> read_word(const Node& node, const std::vector<std::string>& words, Diagnostics& diagnostics);
std::string words_text(const std::vector<std::string>& words);  ///< "eq8 | autograd"

template <class E>
requires Named<E>
struct Codec<E> {
  static std::vector<std::string> choices() {
    std::vector<std::string> words;
    for (const auto& [name, value] : Names<E>::list()) words.push_back(name);
    return words;
  }
  static bool read(const Node& node, const Range&, Diagnostics& diagnostics, E& value) {
    const std::optional<std::size_t> index = read_word(node, choices(), diagnostics);
    if (index) value = Names<E>::list()[*index].second;
    return index.has_value();
  }
  static Json write(E value) { return name_of(value); }
  static std::string type(const Range&) { return words_text(choices()); }
  static Json json_schema(const Range&) { return {{"enum", choices()}}; }
};

bool is_auto(const Node& node);  ///< null or the word auto
Json json_or_auto(Json schema);  ///< anyOf: the schema, "auto" or null

template <class V>
struct Codec<std::optional<V>> {
  static std::vector<std::string> choices() requires requires { Codec<V>::choices(); }
  { return Codec<V>::choices(); }
  static bool read(const Node& node, const Range& range, Diagnostics& diagnostics, std::optional<V>& value) {
    if (is_auto(node)) {
      value.reset();
      return true;
    }
    V inner{};
    if (!Codec<V>::read(node, range, diagnostics, inner)) return false;
    value = std::move(inner);
    return true;
  }
  static Json write(const std::optional<V>& value) { return value ? Codec<V>::write(*value) : Json(nullptr); }
  static std::string type(const Range& range) { return Codec<V>::type(range) + " or auto"; }
  static Json json_schema(const Range& range) { return json_or_auto(Codec<V>::json_schema(range)); }
};

std::string list_text(const std::string& element_type);  ///< "list of numbers > 0"

template <class V>
struct Codec<std::vector<V>> {
  static std::vector<std::string> choices() requires requires { Codec<V>::choices(); }
  { return Codec<V>::choices(); }
  static bool read(const Node& node, const Range& range, Diagnostics& diagnostics, std::vector<V>& value) {
    if (node.kind == Node::Kind::null || node.kind == Node::Kind::map) return refuse(node, diagnostics, "a " + type(range));
    std::vector<V> list;
    bool ok = true;
    const auto add = [&](const Node& item) {
      V element{};
      ok = Codec<V>::read(item, range, diagnostics, element) && ok;
      list.push_back(std::move(element));
    };
    if (node.kind == Node::Kind::scalar) add(node);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const auto scope = diagnostics.within(i);
      add(node.items[i]);
    }
    if (ok) value = std::move(list);
    return ok;
  }
  static Json write(const std::vector<V>& value) {
    Json list = Json::array();
    for (const V& element : value) list.push_back(Codec<V>::write(element));
    return list;
  }
  static std::string type(const Range& range) { return list_text(Codec<V>::type(range)); }
  static Json json_schema(const Range& range) {
    const Json element = Codec<V>::json_schema(range);
    return {{"anyOf", Json::array({{{"type", "array"}, {"items", element}}, element})}};
  }
};

}  // namespace gaussflow::config
