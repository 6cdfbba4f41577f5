#pragma once
/// Open sets in a config: one of the registered flows, targets or starts, with its own keys.

#include "gaussflow/config/node.hpp"
#include "gaussflow/config/section.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gaussflow::config {

/// A choice from a config: what was chosen, all its keys, and how to build it once data may be loaded.
template <class Product, class... Context>
struct Chosen {
  std::string name;                ///< empty: nothing was chosen, or the choice was refused
  Json resolved = Json::object();  ///< every key of the chosen plugin
  std::function<std::unique_ptr<Product>(Context...)> make;
};

/// An entry of an open set (flows, targets, starts): declared once with its schema.
template <class Product, class... Context>
struct Plugin {
  std::string doc;
  std::string main_key;
  std::function<std::vector<KeyInfo>()> keys;
  std::function<Chosen<Product, Context...>(const Node&, Diagnostics&)> read;
};

template <class Product, class... Context>
using Plugins = std::map<std::string, Plugin<Product, Context...>>;

/// The two ways to write a choice.
enum class Form {
  one_of,  ///< {NAME: {keys}}, {NAME: shorthand, key: …} or a bare NAME
  typed,   ///< {type: NAME, key: …} or a bare NAME
};

/// Which plugin a node names and the node that holds its keys.
struct Choice {
  std::string name;  ///< empty when refused
  Node keys;
};
Choice find_choice(Form form, const Node& node, const std::vector<std::string>& names, Diagnostics& diagnostics);
/// {NAME: {keys}} or {type: NAME, keys}; null when nothing was chosen.
Json choice_json(Form form, const std::string& name, const Json& keys);

template <class Entry>
std::vector<std::string> names_of(const std::map<std::string, Entry>& entries) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  return names;
}

template <class Product, class... Context>
Chosen<Product, Context...> read_choice(Form form, const Node& node, const Plugins<Product, Context...>& plugins,
                                        const std::string& what, Diagnostics& diagnostics) {
  const auto section = diagnostics.within(what);
  const Choice choice = find_choice(form, node, names_of(plugins), diagnostics);
  if (choice.name.empty()) return {};
  // one_of descends into NAME; typed stays in the section, whose messages say which type it has.
  const auto inner = form == Form::one_of ? diagnostics.within(choice.name) : diagnostics.within("", choice.name);
  return plugins.at(choice.name).read(choice.keys, diagnostics);
}

/// Reads `{NAME: {…}}`, `{NAME: shorthand, key: …}` or a bare `NAME`, where NAME is one of `plugins` (target, init); a key
/// beside NAME is one of the chosen plugin's own. `what` is the section's name; the scope is entered here.
/// choice_json(Form::one_of, name, resolved) is `{NAME: {all keys}}`.
template <class Product, class... Context>
Chosen<Product, Context...> read_one_of(const Node& node, const std::map<std::string, Plugin<Product, Context...>>& plugins,
                                        const std::string& what, Diagnostics& diagnostics) {
  return read_choice(Form::one_of, node, plugins, what, diagnostics);
}

/// Reads `{type: NAME, key: …}` or a bare NAME (flow). choice_json(Form::typed, …) is `{type: NAME, all keys}`.
template <class Product, class... Context>
Chosen<Product, Context...> read_typed(const Node& node, const std::map<std::string, Plugin<Product, Context...>>& plugins,
                                       const std::string& what, Diagnostics& diagnostics) {
  return read_choice(Form::typed, node, plugins, what, diagnostics);
}

}  // namespace gaussflow::config
