#pragma once
/// What schemas share, whatever C++ type they fill: declared keys, and reading a map by them. Schema<T> (schema.hpp) is a
/// typed face of Section, so that each use of it compiles to little.

#include "gaussflow/config/node.hpp"
#include "gaussflow/config/value.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gaussflow::config {

/// May a key change between a run and its resumption?
enum class Resume {
  fixed,  ///< no: refused with both values
  bits,   ///< yes, but the last bits of the result may differ
  free,   ///< yes
};

/// What a declaration says beside name and type.
struct KeyOptions {
  std::string doc;  ///< one sentence, no full stop
  std::string unit = {};
  double min = -std::numeric_limits<double>::infinity();  ///< of a number, or of each in a list
  double max = std::numeric_limits<double>::infinity();
  bool open_min = false;  ///< min itself is excluded
  bool open_max = false;
  bool required = false;
  Resume resume = Resume::fixed;
  std::string example = {};  ///< as YAML, of a key in `describe --example`; else its default

  Range range() const { return {min, max, open_min, open_max}; }
};

/// A declared key as `describe`, the JSON Schema and the docs see it.
struct KeyInfo {
  enum class Kind { value, section, one_of, typed };

  Kind kind = Kind::value;
  std::string name;
  std::string type;          ///< "number > 0", "eq8 | autograd", "list of numbers", "section"
  Json default_value;        ///< null: auto, or no default
  std::string default_text;  ///< as YAML; empty when there is none
  KeyOptions options;
  std::vector<std::string> choices;  ///< of an enum, or the names of an open set
  Json json_schema;                  ///< of the value
  std::vector<KeyInfo> children;     ///< of a section, or one section per entry of an open set
  std::string main_key;              ///< of a section: what a bare value stands for
};

/// The keys of one map and how they reach an object behind a void pointer.
class Section {
 public:
  struct Key {
    std::string name;
    KeyOptions options;
    bool enters_scope = false;  ///< read opens the key's diagnostics scope itself
    std::function<void(void* object, const Node&, Diagnostics&)> read;
    std::function<Json(const void* object)> write;
    std::function<KeyInfo(const void* defaults)> info;
  };
  using Rule = std::function<void(void* object, const Node& node, Diagnostics&)>;

  std::string doc;
  std::string main;
  std::vector<Key> keys;
  std::vector<Rule> rules;

  /// Throws std::logic_error on a name declared twice, a programming mistake.
  void add(Key key);

  /// Fills the keys that `node` sets: a map, null for none, or the shorthand of the main key. Unknown and missing keys,
  /// wrong types and ranges go to `diagnostics`; the rules run only when all that was right.
  void read(void* object, const Node& node, Diagnostics& diagnostics) const;
  Json write(const void* object) const;
  std::vector<KeyInfo> infos(const void* defaults) const;
};

/// The map that a shorthand stands for: a scalar or list, and the empty key that --set leaves, become `main`.
Node expand_shorthand(const Node& node, const std::string& main, Diagnostics& diagnostics);

/// Block-style YAML of a resolved config; numbers in shortest round-trip form, null as the word auto.
/// parse_yaml reads it back as the same config.
std::string to_yaml(const Json& json);
/// The same value on one line, as `describe` shows a default.
std::string to_yaml_flow(const Json& json);

}  // namespace gaussflow::config
