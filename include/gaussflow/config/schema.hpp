#pragma once
/// One declaration per key: it parses, checks, documents and classifies the key.
///
///     const Schema<StepOptions> schema = Schema<StepOptions>("how particles move")
///         .key("count", &StepOptions::count, {.doc = "total number of steps", .min = 0, .resume = Resume::free})
///         .key("method", &StepOptions::method, {.doc = "the stepper"})
///         .main("count");
///
/// The default of a key is what a default-constructed T holds; `read` starts from it.

#include "gaussflow/config/node.hpp"
#include "gaussflow/config/plugin.hpp"
#include "gaussflow/config/section.hpp"
#include "gaussflow/config/value.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gaussflow::config {

/// Warns of a key that is set and changes nothing here: not an error, because a file may be written for several values of
/// what makes it idle, set one after the other. At its default it says nothing: a resolved config names every key.
template <class T, class V>
void warn_if_idle(const T& object, V T::*member, const Node& map, const std::string& key, const std::string& reason,
                  Diagnostics& diagnostics) {
  if (const Node::Entry* entry = map.entry(key); entry && object.*member != T{}.*member)
    diagnostics.warning(entry->mark, diagnostics.path(key) + " has no effect: " + reason);
}

template <class T>
class Schema {
 public:
  explicit Schema(std::string doc) { section_.doc = std::move(doc); }

  /// A value whose type has a Codec (value.hpp).
  template <class V>
  Schema& key(const std::string& name, V T::*member, KeyOptions options);

  /// A nested map with its own schema; its defaults are what T{} holds in `member`.
  template <class U>
  Schema& section(const std::string& name, U T::*member, const Schema<U>& schema, KeyOptions options);

  /// One entry of an open set. `plugins` is asked when something is read or described, not before.
  /// Left out (or auto), `member` stays as T{} holds it, unless the key is required.
  template <class Product, class... Context>
  Schema& choice(Form form, const std::string& name, Chosen<Product, Context...> T::*member,
                 std::type_identity_t<std::function<const Plugins<Product, Context...>&()>> plugins, KeyOptions options);

  /// The key that a bare word, number or list in place of the map stands for.
  Schema& main(const std::string& name) {
    section_.main = name;
    return *this;
  }

  /// A rule over several keys, run when each of them is right by itself; it may also settle which of them holds. `node` is a
  /// map whatever shorthand was written:
  ///
  ///     .check([](const Moons& m, const Node& node, Diagnostics& diagnostics) {
  ///       if (m.inner > m.outer) diagnostics.error(node.at("inner"), diagnostics.path("inner") + " must be below outer");
  ///     })
  Schema& check(std::function<void(T&, const Node& node, Diagnostics&)> rule) {
    section_.rules.push_back([rule = std::move(rule)](void* object, const Node& node, Diagnostics& diagnostics) {
      rule(*static_cast<T*>(object), node, diagnostics);
    });
    return *this;
  }

  /// Reads a map (or null, or the shorthand). Unknown keys, wrong types and ranges go to `diagnostics`.
  T read(const Node& node, Diagnostics& diagnostics) const {
    T value{};
    section_.read(&value, node, diagnostics);
    return value;
  }

  /// Every key with its value, defaults included, in the order declared; reading it back gives an equal T.
  Json write(const T& value) const { return section_.write(&value); }

  const std::string& doc() const { return section_.doc; }
  const std::string& main() const { return section_.main; }
  std::vector<KeyInfo> keys() const {
    const T defaults{};
    return section_.infos(&defaults);
  }
  const Section& untyped() const { return section_; }

 private:
  Section section_;
};

/// Makes a Plugin from a schema and a factory `unique_ptr<Product>(const Options&, Context...)`.
template <class Product, class... Context, class Options, class Factory>
Plugin<Product, Context...> make_plugin(const std::string& name, Schema<Options> schema, Factory factory) {
  const auto shared = std::make_shared<const Schema<Options>>(std::move(schema));
  return {
      .doc = shared->doc(),
      .main_key = shared->main(),
      .keys = [shared] { return shared->keys(); },
      .read =
          [shared, name, factory = std::move(factory)](const Node& node, Diagnostics& diagnostics) {
            const Options options = shared->read(node, diagnostics);
            return Chosen<Product, Context...>{.name = name,
                                               .resolved = shared->write(options),
                                               .make = [options, factory](Context... context) -> std::unique_ptr<Product> {
                                                 return factory(options, std::forward<Context>(context)...);
                                               }};
          },
  };
}

template <class T>
template <class V>
Schema<T>& Schema<T>::key(const std::string& name, V T::*member, KeyOptions options) {
  const Range range = options.range();
  section_.add({
      .name = name,
      .options = options,
      .read = [member, range](
                  void* object, const Node& node,
                  Diagnostics& diagnostics) { Codec<V>::read(node, range, diagnostics, static_cast<T*>(object)->*member); },
      .write = [member](const void* object) { return Codec<V>::write(static_cast<const T*>(object)->*member); },
      .info =
          [member, range](const void* defaults) {
            KeyInfo info;
            info.type = Codec<V>::type(range);
            info.json_schema = Codec<V>::json_schema(range);
            info.default_value = Codec<V>::write(static_cast<const T*>(defaults)->*member);
            if constexpr (requires { Codec<V>::choices(); }) info.choices = Codec<V>::choices();
            return info;
          },
  });
  return *this;
}

template <class T>
template <class U>
Schema<T>& Schema<T>::section(const std::string& name, U T::*member, const Schema<U>& schema, KeyOptions options) {
  const auto inner = std::make_shared<const Section>(schema.untyped());
  if (options.doc.empty()) options.doc = inner->doc;
  section_.add({
      .name = name,
      .options = options,
      .read = [member, inner](
                  void* object, const Node& node,
                  Diagnostics& diagnostics) { inner->read(&(static_cast<T*>(object)->*member), node, diagnostics); },
      .write = [member, inner](const void* object) { return inner->write(&(static_cast<const T*>(object)->*member)); },
      .info =
          [member, inner](const void* defaults) {
            KeyInfo info;
            info.kind = KeyInfo::Kind::section;
            info.type = "section";
            info.children = inner->infos(&(static_cast<const T*>(defaults)->*member));
            info.main_key = inner->main;
            return info;
          },
  });
  return *this;
}

/// A KeyInfo whose children are the entries of an open set.
KeyInfo choice_info(Form form, std::vector<KeyInfo> entries);

template <class T>
template <class Product, class... Context>
Schema<T>& Schema<T>::choice(Form form, const std::string& name, Chosen<Product, Context...> T::*member,
                             std::type_identity_t<std::function<const Plugins<Product, Context...>&()>> plugins,
                             KeyOptions options) {
  section_.add({
      .name = name,
      .options = options,
      .enters_scope = true,
      .read =
          [=](void* object, const Node& node, Diagnostics& diagnostics) {
            if (!options.required && is_auto(node)) return;
            static_cast<T*>(object)->*member = read_choice(form, node, plugins(), name, diagnostics);
          },
      .write =
          [form, member](const void* object) {
            const auto& chosen = static_cast<const T*>(object)->*member;
            return choice_json(form, chosen.name, chosen.resolved);
          },
      .info =
          [form, plugins](const void*) {
            std::vector<KeyInfo> entries;
            for (const auto& [entry, plugin] : plugins()) {
              KeyInfo info;
              info.name = entry;
              info.kind = KeyInfo::Kind::section;
              info.type = "section";
              info.options.doc = plugin.doc;
              info.children = plugin.keys();
              info.main_key = plugin.main_key;
              entries.push_back(std::move(info));
            }
            return choice_info(form, std::move(entries));
          },
  });
  return *this;
}

}  // namespace gaussflow::config
