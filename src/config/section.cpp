#include "gaussflow/config/section.hpp"

#include "gaussflow/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace gaussflow::config {

namespace {

bool has_key(const std::vector<KeyInfo>& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(), [&](const KeyInfo& key) { return key.name == name; });
}

/// "kernel.tau" for a tau that stands a level too high; empty when no section here has such a key.
std::string a_level_down(const std::string& word, const std::vector<Section::Key>& keys, const void* object,
                         const Diagnostics& diagnostics) {
  const auto is_or_has = [&](const KeyInfo& entry) { return entry.name == word || has_key(entry.children, word); };
  for (const Section::Key& key : keys) {
    const KeyInfo info = key.info(object);
    const bool choice = info.kind == KeyInfo::Kind::one_of || info.kind == KeyInfo::Kind::typed;
    if (choice ? std::any_of(info.children.begin(), info.children.end(), is_or_has) : has_key(info.children, word))
      return fmt::format("{}.{}", diagnostics.path(key.name), word);
  }
  return "";
}

/// "step.size" for a misspelt step_sise or sise; empty when nothing a level down is like it.
std::string near_a_level_down(std::string word, const std::vector<Section::Key>& keys, const void* object,
                              const Diagnostics& diagnostics) {
  std::vector<std::string> dotted, bare;
  for (const Section::Key& key : keys)
    for (const KeyInfo info = key.info(object); const KeyInfo& child : info.children) {
      dotted.push_back(key.name + "." + child.name);
      bare.push_back(child.name);
      if (info.kind == KeyInfo::Kind::section) continue;
      for (const KeyInfo& inner : child.children) {
        dotted.push_back(key.name + "." + inner.name);
        bare.push_back(inner.name);
      }
    }
  std::string near;
  if (const std::size_t joint = word.find_first_of("_-."); joint != std::string::npos) {
    std::string joined = word;
    joined[joint] = '.';
    near = closest(joined, dotted);
  }
  if (near.empty() && word.size() > 3)  // of a short word half is a guess
    if (const std::string inner = closest(word, bare); !inner.empty())
      near = dotted[static_cast<std::size_t>(std::find(bare.begin(), bare.end(), inner) - bare.begin())];
  return near.empty() ? "" : diagnostics.path(near);
}

/// "method: adam" for a word that is one of a key's values; empty when no key here takes it.
std::string as_a_value(const std::string& word, const std::vector<Section::Key>& keys, const void* object) {
  for (const Section::Key& key : keys) {
    const KeyInfo info = key.info(object);
    if (info.kind == KeyInfo::Kind::value && std::find(info.choices.begin(), info.choices.end(), word) != info.choices.end())
      return fmt::format("{}: {}", key.name, word);
  }
  return "";
}

/// The key that was meant, or the keys there are.
std::string key_hint(const std::string& word, const std::vector<Section::Key>& keys, const void* object,
                     const Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const Section::Key& key : keys) names.push_back(key.name);
  std::string near = a_level_down(word, keys, object, diagnostics);
  if (near.empty()) near = as_a_value(word, keys, object);
  if (near.empty()) near = closest(word, names);
  if (near.empty() && diagnostics.is_outermost(word))
    return fmt::format("'{}' is a section of its own, a level further out", word);
  if (near.empty()) near = near_a_level_down(word, keys, object, diagnostics);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  return names.empty() ? "there are no keys here" : fmt::format("keys: {}", fmt::join(names, ", "));
}

}  // namespace

void Section::add(Key key) {
  for (const Key& other : keys)
    if (other.name == key.name) throw std::logic_error("key declared twice: " + key.name);
  keys.push_back(std::move(key));
}

Node expand_shorthand(const Node& node, const std::string& main, Diagnostics& diagnostics) {
  Node map;
  map.kind = Node::Kind::map;
  map.mark = node.mark;
  if (node.is_null()) return map;
  if (node.kind != Node::Kind::map) {
    if (main.empty())
      refuse(node, diagnostics, "a map of keys");
    else
      map.entries.push_back({main, node.mark, 0, node});
    return map;
  }
  const Node::Entry* shorthand = node.entry("");
  if (!shorthand) return node;
  const Node::Entry* spelt = main.empty() ? nullptr : node.entry(main);
  if (main.empty()) refuse(shorthand->value, diagnostics, "a map of keys");
  if (spelt && spelt->rank == shorthand->rank)
    diagnostics.error(spelt->mark, fmt::format("{} is given twice", diagnostics.path(main)), "keep one of them");
  const bool keep = !main.empty() && (!spelt || shorthand->rank > spelt->rank);
  for (const Node::Entry& entry : node.entries) {
    if (&entry == shorthand ? !keep : keep && &entry == spelt) continue;
    map.entries.push_back(entry);
    if (&entry == shorthand) map.entries.back().key = main;
  }
  return map;
}

void Section::read(void* object, const Node& node, Diagnostics& diagnostics) const {
  for (const Key& key : keys) diagnostics.note_outermost(key.name);
  const std::size_t errors_before = diagnostics.error_count();
  const Node map = expand_shorthand(node, main, diagnostics);
  for (const Node::Entry& entry : map.entries)
    if (std::none_of(keys.begin(), keys.end(), [&](const Key& key) { return key.name == entry.key; }))
      diagnostics.error(entry.mark, fmt::format("unknown key '{}'{}", printable(entry.key), diagnostics.in_section()),
                        diagnostics.full() ? "" : key_hint(entry.key, keys, object, diagnostics));
  const Node::Entry* shorthand = node.entry("");
  for (const Key& key : keys) {
    const Node* value = map.find(key.name);
    if (const Node::Entry* spelt = node.entry(key.name); shorthand && spelt && key.name == main) {
      // `step: adam` under --steps 3: what is replaced must be right too.
      const auto scope = diagnostics.within(key.name);
      key.read(object, value == &spelt->value || spelt->rank > shorthand->rank ? shorthand->value : spelt->value,
               diagnostics);
    }
    if (!value && key.options.required)
      diagnostics.error(map.mark, fmt::format("{} is missing", diagnostics.path(key.name)),
                        fmt::format("add '{}: …', {}", key.name, key.options.doc));
    if (!value) continue;
    if (key.enters_scope) {
      key.read(object, *value, diagnostics);
    } else {
      const auto scope = diagnostics.within(key.name);
      key.read(object, *value, diagnostics);
    }
  }
  if (diagnostics.error_count() != errors_before) return;
  for (const Rule& rule : rules) rule(object, map, diagnostics);
}

Json Section::write(const void* object) const {
  Json map = Json::object();
  for (const Key& key : keys) map[key.name] = key.write(object);
  return map;
}

std::vector<KeyInfo> Section::infos(const void* defaults) const {
  std::vector<KeyInfo> result;
  for (const Key& key : keys) {
    KeyInfo info = key.info(defaults);
    info.name = key.name;
    info.options = key.options;
    if (key.options.required)
      info.default_value = nullptr;
    else if (info.kind != KeyInfo::Kind::section)
      info.default_text = to_yaml_flow(info.default_value);
    result.push_back(std::move(info));
  }
  return result;
}

}  // namespace gaussflow::config
