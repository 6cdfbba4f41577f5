#pragma once
/// A strict view of YAML: what a person wrote and where. Everything yaml-cpp would silently accept (duplicate keys, a second
/// document, merge keys, octal numbers, cycles, invalid UTF-8) is refused here, once.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gaussflow::config {

/// A text that config values come from: a file, or one --set on the command line.
struct Source {
  std::string name;                  ///< "configs/ring.yaml", or "--set step.count=5"
  std::filesystem::path directory;   ///< relative paths in values are relative to it
  std::vector<std::string> lines;    ///< for the excerpt under a message
};

/// A place in a source; line and column count from 1.
struct Mark {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 0;
  int length = 1;  ///< characters the caret line underlines
};

struct Node {
  enum class Kind { null, scalar, sequence, map };
  struct Entry;

  Kind kind = Kind::null;
  std::string text;            ///< of a scalar
  bool quoted = false;         ///< "no" and 'no' are words, no is a boolean
  std::vector<Node> items;     ///< of a sequence
  std::vector<Entry> entries;  ///< of a map, in the order written, no key twice
  Mark mark;

  const Node* find(std::string_view key) const;
  const Entry* entry(std::string_view key) const;
  bool is_null() const { return kind == Kind::null; }
};

struct Node::Entry {
  std::string key;
  Mark mark;  ///< of the key
  Node value;
};

/// Collects everything wrong with a config so that one pass reports it all.
class Diagnostics {
 public:
  void error(const Mark& where, const std::string& message, const std::string& hint = "");
  void warning(const Mark& where, const std::string& message);
  bool ok() const { return errors_.empty(); }
  const std::vector<std::string>& errors() const { return errors_; }      ///< each with place, excerpt and caret
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Throws ConfigError with at most 20 of the errors and the count of the rest.
  void throw_if_any() const;

 private:
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
};

/// One document whose root is a map.
///
/// Limits  1 MiB, depth 32, 100 000 nodes after alias expansion.
/// Throws  ConfigError with file:line:column, excerpt and caret.
Node parse_yaml(const std::string& text, const std::string& name, const std::filesystem::path& directory);

/// Throws ConfigError when the file is missing, a folder, unreadable or not strict YAML.
Node load_yaml(const std::filesystem::path& file);

/// Sets one dotted key, "kernel.tau=2" or "target.gaussian.mean=[1, -.2]"; the value is a YAML scalar or flow list, relative
/// paths in it are relative to `directory`. A shorthand on the way (`flow: mmd`, then flow.gradient=…) keeps its value
/// under the key that `shorthand(section)` names.
void apply_override(Node& root, const std::string& assignment, const std::filesystem::path& directory, Diagnostics& diagnostics);

}  // namespace gaussflow::config
