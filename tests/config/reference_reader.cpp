#include "reference_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace sample {

using gaussflow::config::Json;
using gaussflow::config::Node;

namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::runtime_error(why); }

const std::string& scalar(const Node& node) {
  if (node.kind != Node::Kind::scalar) refuse("no scalar");
  return node.text;
}

std::string without_underscores(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != '_') result += c;
  return result;
}

long double number_of(const Node& node) {
  if (node.quoted) refuse("quoted number");
  const std::string digits = without_underscores(scalar(node));
  if (digits.find_first_not_of("0123456789+-.eE") != std::string::npos) refuse("no number");
  char* end = nullptr;
  const long double value = std::strtold(digits.c_str(), &end);
  if (digits.empty() || *end != '\0') refuse("no number");
  return value;
}

Json number(const Node& node) {
  number_of(node);  // refuses what is none
  return std::strtod(without_underscores(node.text).c_str(), nullptr);
}
Json integer(const Node& node) { return static_cast<std::int64_t>(number_of(node)); }
Json text(const Node& node) { return scalar(node); }
Json boolean(const Node& node) {
  static const std::regex yes("true|True|TRUE|yes|Yes|YES|on|On|ON"), no("false|False|FALSE|no|No|NO|off|Off|OFF");
  if (std::regex_match(scalar(node), yes)) return true;
  if (std::regex_match(scalar(node), no)) return false;
  refuse("no boolean");
}

Json interval_of(const std::string& words) {
  static const std::regex steps("([-+0-9_.eE]+) ?(steps?)?"), part("([0-9_.]+(?:e[-+]?[0-9]+)?)([dhms])");
  static const std::map<std::string, double> unit{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}};
  std::smatch match;
  if (words == "never") return "never";
  if (std::regex_match(words, match, steps))
    return Json{{"steps", std::strtod(without_underscores(match[1].str()).c_str(), nullptr)}};
  double seconds = 0;
  for (std::sregex_iterator it(words.begin(), words.end(), part), end; it != end; ++it)
    seconds += std::strtod(without_underscores((*it)[1].str()).c_str(), nullptr) * unit.at((*it)[2].str());
  return Json{{"seconds", seconds}};
}
Json interval(const Node& node) { return interval_of(scalar(node)); }

using Reader = std::function<Json(const Node&)>;

Reader maybe(Reader reader) {
  return [reader](const Node& node) {
    return node.is_null() || (node.kind == Node::Kind::scalar && node.text == "auto") ? Json(nullptr) : reader(node);
  };
}
Reader list(Reader reader) {
  return [reader](const Node& node) {
    Json items = Json::array();
    if (node.kind == Node::Kind::scalar) items.push_back(reader(node));
    if (node.kind == Node::Kind::map || node.is_null()) refuse("no list");
    for (const Node& item : node.items) items.push_back(reader(item));
    return items;
  };
}
Json free_value(const Node& node) {
  Json value;
  switch (node.kind) {
    case Node::Kind::null:
      refuse("no value");
    case Node::Kind::sequence:
      value = Json::array();
      for (const Node& item : node.items) value.push_back(free_value(item));
      return value;
    case Node::Kind::map:
      value = Json::object();
      if (const auto* bare = node.entry("")) {
        int highest = bare->rank;
        for (const auto& entry : node.entries) highest = std::max(highest, entry.rank);
        if (highest == bare->rank) return free_value(bare->value);
        for (const auto& entry : node.entries)
          if (entry.rank > bare->rank) value[entry.key] = free_value(entry.value);
        return value;
      }
      for (const auto& entry : node.entries) value[entry.key] = free_value(entry.value);
      return value;
    case Node::Kind::scalar:
      break;
  }
  if (node.quoted) return node.text;
  try {
    return boolean(node);
  } catch (const std::runtime_error&) {
  }
  // Leading zeros make a text, and so does an underscore that stands between no digits.
  static const std::regex decimal("[-+]?(0|[1-9](_?[0-9])*)?(\\.([0-9](_?[0-9])*)?)?([eE][-+]?[0-9]+)?"),
      starts("^[-+]?\\.?[0-9]"), zero("[^1-9eE]*([eE].*)?");
  if (!std::regex_match(node.text, decimal) || !std::regex_search(node.text, starts)) return node.text;
  const double value_of = number(node).get<double>();
  if (std::isinf(value_of) || (value_of == 0 && !std::regex_match(node.text, zero))) return node.text;
  const bool whole = node.text.find_first_of(".eE") == std::string::npos && std::abs(value_of) < 9.2e18;
  return whole ? integer(node) : Json(value_of);
}

struct Key {
  Reader read;
  Json otherwise;
  bool required = false;
};
using Keys = std::vector<std::pair<std::string, Key>>;

struct Entry {
  int rank;
  Node value;
};
using Entries = std::map<std::string, Entry>;

/// The later --set wins; a file that says a thing twice is wrong.
void put(Entries& entries, const std::string& key, const Entry& entry) {
  const auto [there, fresh] = entries.emplace(key, entry);
  if (fresh) return;
  if (there->second.rank == entry.rank) refuse("twice: " + key);
  if (there->second.rank < entry.rank) there->second = entry;
}

Entries entries_of(const Node& node, const std::string& main) {
  Entries entries;
  if (node.is_null()) return entries;
  if (node.kind != Node::Kind::map) {
    if (main.empty()) refuse("no map");
    put(entries, main, {0, node});
    return entries;
  }
  for (const auto& entry : node.entries) {
    if (entry.key.empty() && main.empty()) refuse("no map");
    put(entries, entry.key.empty() ? main : entry.key, {entry.rank, entry.value});
  }
  return entries;
}

Json keys_of(const Entries& entries, const Keys& keys) {
  Json map = Json::object();
  std::size_t used = 0;
  for (const auto& [name, key] : keys) {
    const auto found = entries.find(name);
    if (found == entries.end() && key.required) refuse("missing: " + name);
    used += found != entries.end();
    map[name] = found == entries.end() ? key.otherwise : key.read(found->second.value);
  }
  if (used != entries.size()) refuse("unknown key");
  return map;
}

Reader section(const std::string& main, Keys keys) {
  return [=](const Node& node) { return keys_of(entries_of(node, main), keys); };
}
Key defaulted(const Reader& reader) { return {reader, reader(Node{})}; }

struct Plugin {
  std::string main;
  Keys keys;
};
using Plugins = std::map<std::string, Plugin>;

Reader typed(Plugins plugins) {
  return [=](const Node& node) {
    Entries entries = entries_of(node, "type");
    const auto type = entries.find("type");
    if (type == entries.end() || !plugins.contains(scalar(type->second.value))) refuse("no type");
    const std::string name = type->second.value.text;
    entries.erase(type);
    Json map = {{"type", name}};
    map.update(keys_of(entries, plugins.at(name).keys));
    return map;
  };
}

Reader one_of(Plugins plugins) {
  return [=](const Node& node) {
    std::string name;
    int rank = -1;
    Entries beside;
    if (node.kind == Node::Kind::scalar) name = node.text;
    if (node.kind != Node::Kind::scalar && node.kind != Node::Kind::map) refuse("no choice");
    for (const auto& entry : node.entries) {
      const bool bare = entry.key.empty();
      if (!bare && !plugins.contains(entry.key)) {
        beside.emplace(entry.key, Entry{entry.rank, entry.value});
        continue;
      }
      const std::string named = bare ? scalar(entry.value) : entry.key;
      if (entry.rank == rank && named != name) refuse("two choices");
      if (entry.rank > rank) name = named;
      rank = std::max(rank, entry.rank);
    }
    if (!plugins.contains(name)) refuse("no choice");
    const Plugin& plugin = plugins.at(name);
    Entries entries;
    if (const auto* inside = node.entry(name)) {
      entries = entries_of(inside->value, plugin.main);
      if (inside->value.kind != Node::Kind::map)
        for (auto& [key, entry] : entries) entry.rank = inside->rank;
    }
    for (const auto& [key, entry] : beside) put(entries, key, entry);
    return Json{{name, keys_of(entries, plugin.keys)}};
  };
}

const Keys& config() {
  static const Plugins flows{{"mmd", {"", {{"gradient", {text, "eq8"}}, {"anneal", {maybe(number), nullptr}}}}},
                             {"svgd", {"", {{"weighted", {boolean, false}}}}}};
  static const Plugins targets{
      {"samples", {"file", {{"file", {text, nullptr, true}}, {"batch", {maybe(integer), nullptr}}}}},
      {"gaussian", {"", {{"mean", {list(number), {0.0, 0.0}}}, {"cov", {list(list(number)), Json::array()}}}}},
      {"banana", {"", {{"curvature", {number, 0.5}}}}}};
  static const Plugins starts{
      {"normal", {"", {{"mean", {list(number), Json::array({0.0})}}, {"std", {list(number), Json::array({1.0})}}}}},
      {"run", {"folder", {{"folder", {text, nullptr, true}}}}}};
  static const Keys keys{
      {"name", {text, ""}},
      {"seed", {integer, nullptr, true}},
      {"flow", {typed(flows), nullptr, true}},
      {"target", {one_of(targets), nullptr, true}},
      {"particles", defaulted(section("count", {{"count", {integer, 1000}}, {"init", {maybe(one_of(starts)), nullptr}}}))},
      {"kernel", defaulted(section("bandwidth", {{"tau", {maybe(number), nullptr}},
                                                 {"sigma", {maybe(number), nullptr}},
                                                 {"bandwidth", {text, "median"}},
                                                 {"refresh", {integer, 10}}}))},
      {"step", defaulted(section("count", {{"count", {integer, 1000}},
                                           {"method", {text, "euler"}},
                                           {"size", {maybe(number), nullptr}},
                                           {"mu", {number, 0.9}}}))},
      {"checkpoint", defaulted(section("every", {{"every", {interval, {{"seconds", 300.0}}}}, {"keep", {integer, 2}}}))},
      {"meta", {free_value, Json::object()}},
  };
  return keys;
}

}  // namespace

Json reference(const Node& root) { return keys_of(entries_of(root, ""), config()); }

Json comparable(Json written) {
  written["checkpoint"]["every"] = interval_of(written["checkpoint"]["every"].get<std::string>());
  return written;
}

}  // namespace sample
