#pragma once
/// A strict view of YAML: what a person wrote and where. Everything yaml-cpp would silently accept (duplicate keys, a second
/// document, merge keys, octal numbers, cycles, invalid UTF-8) is refused here, once.

#include "gaussflow/core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gaussflow::config {

/// A text that config values come from: a file, or one --set on the command line.
struct Source {
  std::string name;                 ///< "configs/ring.yaml", or "--set step.count=5"
  std::filesystem::path directory;  ///< relative paths in values are relative to it
  std::vector<std::string> lines;   ///< for the excerpt under a message
  bool flag = false;                ///< one --set: places in it have no line number
};

/// A place in a source; line and column count from 1, columns in characters.
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
  /// Where a rule over several keys reports: the value of `key` when it is there, else the map.
  const Mark& at(std::string_view key) const;
  bool is_null() const { return kind == Kind::null; }
  /// "'abc'", "a list", "a map" or "nothing", for "got …".
  std::string description() const;
};

/// An entry of a map. The empty key, which no source can spell, holds what stood in place of the map before a --set went
/// into it: `flow: mmd` and flow.gradient=autograd give {"": mmd, gradient: autograd}.
struct Node::Entry {
  std::string key;
  Mark mark;     ///< of the key
  int rank = 0;  ///< 0 in a file, k by the k-th --set; where two entries set one thing the higher rank wins
  Node value;
};

/// Collects everything wrong with a config so that one pass reports it all, and knows which section is being read so that
/// messages can say "kernel.tau".
class Diagnostics {
 public:
  void error(const Mark& where, const std::string& message, const std::string& hint = "");
  void warning(const Mark& where, const std::string& message);
  bool ok() const { return count_ == 0; }
  std::size_t error_count() const { return count_; }
  /// So many errors that only their number is still kept.
  bool full() const { return problems_.size() >= 500; }
  std::vector<std::string> errors() const;  ///< each with place, excerpt and caret; files first, in the order of lines
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Throws ConfigError with at most 20 of the errors and the count of the rest.
  void throw_if_any() const;

  /// Enters a section, or an element of a list, until the returned object dies; `note` is what else to say of a section.
  class Scope;
  [[nodiscard]] Scope within(const std::string& name, const std::string& note = "");
  [[nodiscard]] Scope within(std::size_t index);
  /// "kernel.tau" in the section kernel; the section itself when `key` is empty; "the config" at the root.
  std::string path(std::string_view key = {}) const;
  /// Remembers a key of the root, when it is the root that is read: what stands too deep is told from what is unknown.
  void note_outermost(const std::string& key) {
    if (levels_.empty()) outermost_.push_back(key);
  }
  bool is_outermost(const std::string& key) const {
    return !levels_.empty() && std::find(outermost_.begin(), outermost_.end(), key) != outermost_.end();
  }
  /// " in kernel", " in flow (mmd)"; empty at the root.
  std::string in_section() const;

 private:
  struct Problem {
    bool flag;
    int line;
    int column;
    std::string text;
  };
  struct Level {
    std::string name;
    std::string note;
  };
  std::vector<Problem> problems_;
  std::size_t count_ = 0;
  std::vector<std::string> warnings_;
  std::vector<Level> levels_;
  std::vector<std::string> outermost_;
};

class Diagnostics::Scope {
 public:
  explicit Scope(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { diagnostics_.levels_.pop_back(); }

 private:
  Diagnostics& diagnostics_;
};

/// One document whose root is a map.
///
/// Limits  1 MiB, depth 32, 100 000 nodes after alias expansion.
/// Throws  ConfigError with file:line:column, excerpt and caret.
Node parse_yaml(const std::string& text, const std::string& name, const std::filesystem::path& directory);

/// Throws ConfigError when the file is missing, a folder, unreadable or not strict YAML.
Node load_yaml(const std::filesystem::path& file);

/// Sets one dotted key, "kernel.tau=2" or "target.gaussian.mean=[1, -.2]"; relative paths in the value are relative to
/// `directory`. A map in braces replaces what was there; a scalar or list set on a map stands for its main key, and a
/// shorthand on the way (`flow: mmd`, then flow.gradient=…) keeps its value (Node::Entry). The last of two --set wins.
///
/// `flag`: an option of the command line that stands for this key ("--seed"), which messages show in place of --set.
void apply_override(Node& root, const std::string& assignment, const std::filesystem::path& directory,
                    Diagnostics& diagnostics, const std::string& flag = "");

using gaussflow::printable;

}  // namespace gaussflow::config
