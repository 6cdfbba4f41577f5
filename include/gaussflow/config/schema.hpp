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
#include "gaussflow/config/value.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow::config {

using Json = nlohmann::ordered_json;

/// May a key change between a run and its resumption?
enum class Resume {
  fixed,  ///< no: refused with both values
  bits,   ///< yes, but the last bits of the result may differ
  free,   ///< yes
};

/// What a declaration says beside name and type.
struct KeyOptions {
  std::string doc;                                               ///< one sentence, no full stop
  std::string unit = {};
  double min = -std::numeric_limits<double>::infinity();         ///< of a number, or of each in a list
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false;                                         ///< min itself is excluded
  bool open_max = false;
  bool required = false;
  Resume resume = Resume::fixed;
};

/// A declared key as `describe`, the JSON Schema and the docs see it.
struct KeyInfo {
  std::string name;
  std::string type;                   ///< "number > 0", "eq8 | autograd", "list of numbers", "section"
  std::string default_text;           ///< as YAML; empty when there is none
  KeyOptions options;
  std::vector<std::string> choices;   ///< of an enum
  Json json_schema;                   ///< of the value
  std::vector<KeyInfo> children;      ///< of a section
};

template <class T>
class Schema {
 public:
  explicit Schema(std::string doc) : doc_(std::move(doc)) {}

  /// A value whose type has a Codec (value.hpp).
  template <class V>
  Schema& key(const std::string& name, V T::*member, KeyOptions options);

  /// A nested map with its own schema.
  template <class U>
  Schema& section(const std::string& name, U T::*member, const Schema<U>& schema, KeyOptions options);

  /// The key that a bare word or number in place of the map stands for.
  Schema& main(const std::string& name) {
    main_ = name;
    return *this;
  }

  /// A rule over several keys; reports through Diagnostics, at `node`'s entries where it can.
  Schema& check(std::function<void(const T&, const Node& node, Diagnostics&)> rule) {
    rules_.push_back(std::move(rule));
    return *this;
  }

  /// Reads a map (or null, or the shorthand). Unknown keys, wrong types and ranges go to `diagnostics`.
  T read(const Node& node, Diagnostics& diagnostics) const;

  /// Every key with its value, defaults included, in the order declared; reading it back gives an equal T.
  Json write(const T& value) const;

  const std::string& doc() const { return doc_; }
  const std::string& main() const { return main_; }
  std::vector<KeyInfo> keys() const;

 private:
  struct Key {
    std::string name;
    std::function<KeyInfo(const T& defaults)> info;
    std::function<void(T&, const Node&, Diagnostics&)> read;
    std::function<Json(const T&)> write;
    bool required = false;
  };
  std::string doc_;
  std::string main_;
  std::vector<Key> keys_;
  std::vector<std::function<void(const T&, const Node&, Diagnostics&)>> rules_;
};

/// A choice from a config: what was chosen, all its keys, and how to build it once data may be loaded.
template <class Product, class... Context>
struct Chosen {
  std::string name;
  Json resolved;  ///< every key of the chosen plugin
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

/// Makes a Plugin from a schema and a factory `unique_ptr<Product>(const Options&, Context...)`.
template <class Product, class... Context, class Options, class Factory>
Plugin<Product, Context...> make_plugin(const std::string& name, Schema<Options> schema, Factory factory);

/// Reads `{NAME: {…}}`, `{NAME: shorthand, key: …}` or a bare `NAME`, where NAME is one of `plugins` (target, init).
/// The resolved form is `{NAME: {all keys}}`.
template <class Product, class... Context>
Chosen<Product, Context...> read_one_of(const Node& node, const std::map<std::string, Plugin<Product, Context...>>& plugins,
                                        const std::string& what, Diagnostics& diagnostics);

/// Reads `{type: NAME, key: …}` or a bare NAME (flow). The resolved form is `{type: NAME, all keys}`.
template <class Product, class... Context>
Chosen<Product, Context...> read_typed(const Node& node, const std::map<std::string, Plugin<Product, Context...>>& plugins,
                                       const std::string& what, Diagnostics& diagnostics);

/// Block-style YAML of a resolved config; numbers in shortest round-trip form.
std::string to_yaml(const Json& json);

}  // namespace gaussflow::config
