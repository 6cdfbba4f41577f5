#include "gaussflow/config/value.hpp"

#include "gaussflow/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussflow::config {

namespace {

bool plain(const Node& node) { return node.kind == Node::Kind::scalar && !node.quoted; }

/// 'must be an integer ≥ 1': the type with its article.
std::string with_article(const std::string& type) { return (type.starts_with("integer") ? "an " : "a ") + type; }

template <class N>
bool read_in_range(const Node& node, const Range& range, Diagnostics& diagnostics,
                   std::optional<N> (*parse)(const std::string&), N& value) {
  constexpr bool integer = std::is_same_v<N, std::int64_t>;
  const std::optional<N> number = plain(node) ? parse(node.text) : std::nullopt;
  if (!number) {
    const bool in_quotes = node.kind == Node::Kind::scalar && node.quoted && parse(node.text);
    return refuse(node, diagnostics, with_article(Codec<N>::type(range)),
                  in_quotes     ? "quotes make it a text: leave them out"
                  : plain(node) ? number_hint(node.text, integer)
                                : "");
  }
  if (!range.contains(static_cast<double>(*number))) {
    diagnostics.error(node.mark,
                      fmt::format("{} must be {}, got {}", diagnostics.path(), range.text(), printable(node.text)));
    return false;
  }
  value = *number;
  return true;
}

Json with_range(const std::string& type, const Range& range) {
  Json schema = {{"type", type}};
  const auto number = [&](double bound) { return type == "integer" ? Json(static_cast<std::int64_t>(bound)) : Json(bound); };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (range.min > -infinity) schema[range.open_min ? "exclusiveMinimum" : "minimum"] = number(range.min);
  if (range.max < infinity) schema[range.open_max ? "exclusiveMaximum" : "maximum"] = number(range.max);
  return schema;
}

/// The text of a file name, or nullptr after an error.
const std::string* file_text(const Node& node, Diagnostics& diagnostics, const std::string& wanted) {
  if (node.kind != Node::Kind::scalar) {
    refuse(node, diagnostics, wanted);
    return nullptr;
  }
  if (node.text.empty()) {
    diagnostics.error(node.mark, fmt::format("{} is empty, expected {}", diagnostics.path(), wanted));
    return nullptr;
  }
  if (node.text.front() == '~') {
    diagnostics.error(node.mark, fmt::format("{}: ~ is not expanded", diagnostics.path()),
                      "write the whole path, or one relative to the config");
    return nullptr;
  }
  return &node.text;
}

}  // namespace

std::string Range::text() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const bool below = max<infinity, above = min> - infinity;
  if (above && below)
    return fmt::format("in {}{}, {}{}", open_min ? "(" : "[", number_text(min), number_text(max), open_max ? ")" : "]");
  if (above) return (open_min ? "> " : "≥ ") + number_text(min);
  if (below) return (open_max ? "< " : "≤ ") + number_text(max);
  return "";
}

bool refuse(const Node& node, Diagnostics& diagnostics, const std::string& wanted, const std::string& hint) {
  if (node.is_null())
    diagnostics.error(node.mark, fmt::format("{} has no value, expected {}", diagnostics.path(), wanted), hint);
  else
    diagnostics.error(node.mark, fmt::format("{} must be {}, got {}", diagnostics.path(), wanted, node.description()), hint);
  return false;
}

bool Codec<bool>::read(const Node& node, const Range&, Diagnostics& diagnostics, bool& value) {
  const std::optional<bool> read = plain(node) ? parse_boolean(node.text) : std::nullopt;
  if (!read) {
    const bool in_quotes = node.kind == Node::Kind::scalar && node.quoted && parse_boolean(node.text);
    return refuse(node, diagnostics, "true or false", in_quotes ? "quotes make it a text: leave them out" : "");
  }
  value = *read;
  return true;
}

std::string Codec<std::int64_t>::type(const Range& range) {
  return range.text().empty() ? "integer" : "integer " + range.text();
}
std::string Codec<double>::type(const Range& range) { return range.text().empty() ? "number" : "number " + range.text(); }
Json Codec<std::int64_t>::json_schema(const Range& range) { return with_range("integer", range); }
Json Codec<double>::json_schema(const Range& range) { return with_range("number", range); }

bool Codec<std::int64_t>::read(const Node& node, const Range& range, Diagnostics& diagnostics, std::int64_t& value) {
  return read_in_range(node, range, diagnostics, parse_integer, value);
}

bool Codec<double>::read(const Node& node, const Range& range, Diagnostics& diagnostics, double& value) {
  return read_in_range(node, range, diagnostics, parse_number, value);
}

bool Codec<std::string>::read(const Node& node, const Range&, Diagnostics& diagnostics, std::string& value) {
  if (node.kind != Node::Kind::scalar) return refuse(node, diagnostics, "a text");
  value = node.text;
  return true;
}

bool Codec<std::filesystem::path>::read(const Node& node, const Range&, Diagnostics& diagnostics,
                                        std::filesystem::path& value) {
  const std::string* text = file_text(node, diagnostics, "a file name");
  if (!text) return false;
  const std::filesystem::path path(*text);
  const std::filesystem::path directory = node.mark.source ? node.mark.source->directory : std::filesystem::path();
  value = path.is_absolute() || directory.empty() ? path : (directory / path).lexically_normal();
  return true;
}

bool Codec<DataRef>::read(const Node& node, const Range&, Diagnostics& diagnostics, DataRef& value) {
  const std::string* text = file_text(node, diagnostics, "FILE or FILE:/dataset");
  if (!text) return false;
  value = parse_data_ref(*text, node.mark.source ? node.mark.source->directory : std::filesystem::path());
  return true;
}

bool Codec<Interval>::read(const Node& node, const Range&, Diagnostics& diagnostics, Interval& value) {
  const std::optional<Interval> interval = node.kind == Node::Kind::scalar ? parse_interval(node.text) : std::nullopt;
  if (!interval) return refuse(node, diagnostics, "a time such as 5m or 1h30m, a number of steps ≥ 1, or never");
  value = *interval;
  return true;
}

Json Codec<Interval>::json_schema(const Range&) {
  return {
      {"anyOf", Json::array({{{"type", "integer"}, {"minimum", 1}},
                             {{"type", "string"}, {"pattern", "^(never|[0-9][0-9_.]*(e[0-9]+)? ?(steps?|[dhms].*))$"}}})}};
}

bool Codec<Json>::read(const Node& node, const Range& range, Diagnostics& diagnostics, Json& value) {
  switch (node.kind) {
    case Node::Kind::null:
      return refuse(node, diagnostics, "a value");
    case Node::Kind::scalar:
      if (node.quoted)
        value = node.text;
      else if (const auto boolean = parse_boolean(node.text))
        value = *boolean;
      else if (const auto integer = parse_integer(node.text); integer && node.text.find_first_of(".eE") == std::string::npos)
        value = *integer;
      else if (const auto number = parse_number(node.text))
        value = *number;
      else
        value = node.text;
      return true;
    case Node::Kind::sequence: {
      Json list = Json::array();
      bool ok = true;
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        const auto scope = diagnostics.within(i);
        Json item;
        ok = read(node.items[i], range, diagnostics, item) && ok;
        list.push_back(std::move(item));
      }
      value = std::move(list);
      return ok;
    }
    case Node::Kind::map:
      break;
  }
  // A free map has no main key: of a bare value and of keys that were set into it, the later --set stays.
  const Node::Entry* bare = node.entry("");
  const auto later = [&](const Node::Entry& entry) { return entry.rank > bare->rank; };
  if (bare && std::none_of(node.entries.begin(), node.entries.end(), later))
    return read(bare->value, range, diagnostics, value);
  Json map = Json::object();
  using Pairs = std::vector<std::pair<const std::string, Json>>;
  Pairs& pairs = *map.get_ptr<Json::object_t*>();  // keys are distinct already; the map's own insertion is quadratic
  bool ok = true;
  for (const Node::Entry& entry : node.entries) {
    if (bare && !later(entry)) continue;
    const auto scope = diagnostics.within(entry.key);
    Json item;
    ok = read(entry.value, range, diagnostics, item) && ok;
    pairs.emplace_back(entry.key, std::move(item));
  }
  value = std::move(map);
  return ok;
}

std::optional<std::size_t> read_word(const Node& node, const std::vector<std::string>& words, Diagnostics& diagnostics) {
  if (node.kind == Node::Kind::scalar)
    for (std::size_t i = 0; i < words.size(); ++i)
      if (node.text == words[i]) return i;
  const std::string near = node.kind == Node::Kind::scalar ? closest(node.text, words) : "";
  refuse(node, diagnostics, either(words), near.empty() ? "" : fmt::format("did you mean '{}'?", near));
  return std::nullopt;
}

std::string words_text(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " | ")); }

bool is_auto(const Node& node) { return node.is_null() || (node.kind == Node::Kind::scalar && node.text == "auto"); }

Json json_or_auto(Json schema) {
  return {{"anyOf", Json::array({std::move(schema), {{"const", "auto"}}, {{"type", "null"}}})}};
}

std::string list_text(const std::string& element_type) {
  for (const auto& [one, many] : {std::pair<std::string, std::string>{"number", "numbers"},
                                  {"integer", "integers"},
                                  {"list", "lists"},
                                  {"text", "texts"},
                                  {"FILE", "FILEs"}})
    if (element_type == one || element_type.starts_with(one + " "))
      return "list of " + many + element_type.substr(one.size());
  return "list of " + element_type;
}

}  // namespace gaussflow::config
