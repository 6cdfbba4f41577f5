#include "gaussflow/config/plugin.hpp"

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussflow::config {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string name_hint(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = closest(word, names);
  return near.empty() ? "one of " + either(names) : fmt::format("did you mean '{}'?", near);
}

Choice unknown(const Node& node, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  if (node.kind == Node::Kind::scalar)
    diagnostics.error(node.mark, fmt::format("unknown {} {}", diagnostics.path(), node.description()),
                      name_hint(node.text, names));
  else
    refuse(node, diagnostics, "one of " + either(names));
  return {};
}

Node empty_map(const Mark& mark) {
  Node map;
  map.kind = Node::Kind::map;
  map.mark = mark;
  return map;
}

/// Adds an entry; where the key is there already, the one from the later --set stays, and two of a file are an error.
void merge(Node& map, const Node::Entry& entry, Diagnostics& diagnostics) {
  for (Node::Entry& there : map.entries) {
    if (there.key != entry.key) continue;
    if (there.rank == entry.rank)
      diagnostics.error(entry.mark, fmt::format("{} is given twice", diagnostics.path(entry.key)), "keep one of them");
    else if (entry.rank > there.rank)
      there = entry;
    return;
  }
  map.entries.push_back(entry);
}

/// Of the entries that name a plugin, the one that counts: the only one, or the one of the latest --set.
const Node::Entry* pick(const std::vector<const Node::Entry*>& named, const std::vector<std::string>& names,
                        Diagnostics& diagnostics) {
  const auto name = [](const Node::Entry* entry) { return entry->key.empty() ? entry->value.text : entry->key; };
  const Node::Entry* best = nullptr;
  for (const Node::Entry* entry : named) {
    if (!best || entry->rank > best->rank) {
      best = entry;
    } else if (entry->rank == best->rank && name(entry) != name(best)) {
      diagnostics.error(entry->mark,
                        fmt::format("{} is one of {}: both '{}' and '{}' are given", diagnostics.path(), either(names),
                                    name(best), name(entry)),
                        "keep one of them");
      return nullptr;
    }
  }
  return best;
}

Choice find_one_of(const Node& node, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  std::vector<const Node::Entry*> named;
  for (const Node::Entry& entry : node.entries)
    if (contains(names, entry.key) || entry.key.empty()) named.push_back(&entry);
  if (named.empty()) {
    // The other form: {type: NAME, key: …}.
    if (const Node::Entry* type = node.entry("type");
        type && type->value.kind == Node::Kind::scalar && contains(names, type->value.text)) {
      diagnostics.error(type->mark, fmt::format("{} has no type", diagnostics.path()),
                        fmt::format("write {}: {{{}: {{…}}}}, its keys inside", diagnostics.path(), type->value.text));
      return {};
    }
    const auto written = std::find_if(node.entries.begin(), node.entries.end(),
                                      [&](const auto& entry) { return !closest(entry.key, names).empty(); });
    const Node::Entry* suspect = written != node.entries.end() ? &*written : nullptr;
    diagnostics.error(suspect ? suspect->mark : node.mark,
                      suspect ? fmt::format("unknown {} '{}'", diagnostics.path(), printable(suspect->key))
                              : fmt::format("{} must say which", diagnostics.path()),
                      name_hint(suspect ? suspect->key : "", names));
    return {};
  }
  const Node::Entry* chosen = pick(named, names, diagnostics);
  if (!chosen) return {};
  const bool bare = chosen->key.empty();
  if (bare && (chosen->value.kind != Node::Kind::scalar || !contains(names, chosen->value.text)))
    return unknown(chosen->value, names, diagnostics);
  const std::string name = bare ? chosen->value.text : chosen->key;

  Choice choice{name, empty_map(bare ? chosen->value.mark : chosen->mark)};
  // `init: normal` and then init.normal.mean=…: the bare word and the key name the same plugin.
  if (const Node::Entry* keyed = node.entry(name)) {
    const Node& value = keyed->value;
    if (value.kind == Node::Kind::map)
      choice.keys.entries = value.entries;
    else if (!value.is_null())
      choice.keys.entries.push_back({"", value.mark, keyed->rank, value});
  }
  const auto inside = diagnostics.within(name);
  for (const Node::Entry& entry : node.entries)
    if (!contains(names, entry.key) && !entry.key.empty()) merge(choice.keys, entry, diagnostics);
  return choice;
}

Choice find_typed(const Node& node, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  const Node map = expand_shorthand(node, "type", diagnostics);
  const Node* type = map.find("type");
  if (!type) {
    // The other form: {NAME: {key: …}}.
    for (const Node::Entry& entry : map.entries)
      if (contains(names, entry.key)) {
        diagnostics.error(entry.mark, fmt::format("unknown key '{}' in {}", entry.key, diagnostics.path()),
                          fmt::format("write {}: {{type: {}, …}}, its keys beside it", diagnostics.path(), entry.key));
        return {};
      }
    diagnostics.error(node.mark, fmt::format("{} is missing", diagnostics.path("type")), "one of " + either(names));
    return {};
  }
  if (type->kind != Node::Kind::scalar || !contains(names, type->text)) return unknown(*type, names, diagnostics);
  Choice choice{type->text, empty_map(node.mark)};
  for (const Node::Entry& entry : map.entries)
    if (entry.key != "type") choice.keys.entries.push_back(entry);
  return choice;
}

}  // namespace

Choice find_choice(Form form, const Node& node, const std::vector<std::string>& names, Diagnostics& diagnostics) {
  if (node.kind == Node::Kind::sequence || node.is_null()) return unknown(node, names, diagnostics);
  if (form == Form::typed) return find_typed(node, names, diagnostics);
  if (node.kind == Node::Kind::map) return find_one_of(node, names, diagnostics);
  return contains(names, node.text) ? Choice{node.text, empty_map(node.mark)} : unknown(node, names, diagnostics);
}

Json choice_json(Form form, const std::string& name, const Json& keys) {
  if (name.empty()) return nullptr;
  if (form == Form::one_of) return {{name, keys}};
  Json map = {{"type", name}};
  map.update(keys);
  return map;
}

KeyInfo choice_info(Form form, std::vector<KeyInfo> entries) {
  KeyInfo info;
  for (const KeyInfo& entry : entries) info.choices.push_back(entry.name);
  info.type = words_text(info.choices);
  info.kind = form == Form::typed ? KeyInfo::Kind::typed : KeyInfo::Kind::one_of;
  info.children = std::move(entries);
  return info;
}

}  // namespace gaussflow::config
