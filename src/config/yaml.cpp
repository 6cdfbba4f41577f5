#include "yaml.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include "notation.hpp"
#include "text.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace gaussflow::config {

namespace {

constexpr int depth_limit = 32;
constexpr std::size_t node_limit = 100'000;

int height(const Node& node) {
  int below = 0;
  for (const Node& item : node.items) below = std::max(below, height(item));
  for (const Node::Entry& entry : node.entries) below = std::max(below, height(entry.value));
  return below + (node.kind == Node::Kind::sequence || node.kind == Node::Kind::map);
}

/// The parser recursed into a document that is refused already; `parse_document` reports what was collected.
struct Stop {};

/// Builds a Node from yaml-cpp's events. Its own tree keeps the first of two equal keys and loses places and quotes.
/// The limits are checked at the start of each collection, before the parser recurses into it, and before an alias is
/// copied.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::shared_ptr<const Source> source, int line, int column, Diagnostics& diagnostics)
      : text_(text), source_(std::move(source)), line_(line), column_(column), diagnostics_(diagnostics) {}

  Node take() { return std::move(root_); }

  /// Columns of yaml-cpp count bytes.
  Mark mark(const YAML::Mark& at, int length = 1) const {
    const int lines = static_cast<int>(source_->lines.size());
    Mark mark{source_, std::clamp(at.line + line_, 1, std::max(1, lines)), std::max(1, at.column + 1), length};
    if (at.line == 0) mark.column += column_ - 1;
    if (mark.line <= lines) mark.column = character_column(mark.line, static_cast<std::size_t>(mark.column) - 1);
    return mark;
  }

  void OnDocumentStart(const YAML::Mark& at) override {
    if (++documents_ == 1) return;
    const bool marked = line_at(at).starts_with("---");
    refuse(mark(at), marked ? "a second document" : "the text before this line is complete",
           marked ? "a config is one document: remove the ---" : "is its indentation right?");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& at, YAML::anchor_t anchor) override {
    Node node;
    node.mark = mark(at);
    // A word alone on its line: yaml-cpp reports the missing value at the key itself, not behind it.
    if (!open_.empty() && open_.back().key && !open_.back().flow && at.pos <= open_.back().key_position)
      error(open_.back().key_mark, fmt::format("'{}' has no ': ' behind it", printable(*open_.back().key)),
            no_colon_hint(*open_.back().key));
    add(std::move(node), at, anchor);
  }

  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(mark(at), "an alias inside the value it stands for", "write the value out");
    count(at, found->second.size);
    if (static_cast<int>(open_.size()) + found->second.height > depth_limit) refuse_depth(at);
    Node copy = found->second.node;
    place(std::move(copy), at, /*alias=*/true);
  }

  /// yaml-cpp takes everything up to a blank for the name: `&seed: 1` would lose the key.
  void OnAnchor(const YAML::Mark& at, const std::string& name) override {
    const bool word =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
    if (!word) error(mark(at), fmt::format("'&{}' is no anchor", printable(name)), "quote a text that starts with &");
    if (!anchor_names_.insert(name).second)
      error(mark(at), fmt::format("anchor '&{}' is set twice", printable(name)), "use two names");
  }

  void OnScalar(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    if (tag != "!") check_tag(at, tag);  // "!" is said of quoted texts too
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    if (node.quoted) check(at, notation_fault(text_, static_cast<std::size_t>(std::max(at.pos, 0))));
    check(at, value_fault(value));
    node.mark = mark(at, written_length(at, value));
    add(std::move(node), at, anchor);
  }

  void OnSequenceStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, at, tag, anchor, true);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::map, at, tag, anchor, style == YAML::EmitterStyle::Flow);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::Mark at;
    YAML::anchor_t anchor;
    bool flow;
    std::size_t count_before;
    std::optional<std::string> key;  ///< waits for its value
    Mark key_mark;
    int key_position = 0;
    std::unordered_map<std::string, int> lines;  ///< of the keys so far
  };
  struct Anchored {
    Node node;
    std::size_t size;
    int height;
  };

  /// Goes on from the place asked for last: a line may hold 100 000 values.
  int character_column(int line, std::size_t bytes) const {
    const std::string_view text = source_->lines[static_cast<std::size_t>(line) - 1];
    bytes = std::min(bytes, text.size());
    if (line != counted_line_ || bytes < counted_bytes_) {
      counted_bytes_ = 0;
      counted_characters_ = 0;
    }
    counted_line_ = line;
    counted_characters_ += character_count(text.substr(counted_bytes_, bytes - counted_bytes_));
    counted_bytes_ = bytes;
    return counted_characters_ + 1;
  }

  std::string_view line_at(const YAML::Mark& at) const {
    const auto line = static_cast<std::size_t>(std::max(0, at.line + line_ - 1));
    return line < source_->lines.size() ? std::string_view(source_->lines[line]) : std::string_view();
  }

  void error(const Mark& where, const std::string& message, const std::string& hint) {
    diagnostics_.error(where, message, hint);
  }
  [[noreturn]] void refuse(const Mark& where, const std::string& message, const std::string& hint) {
    error(where, message, hint);
    throw Stop{};
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& at) {
    refuse(mark(at), fmt::format("nested deeper than {} levels", depth_limit), "");
  }

  void count(const YAML::Mark& at, std::size_t nodes) {
    count_ += nodes;
    if (count_ > node_limit)
      refuse(mark(at), fmt::format("more than {} values, aliases counted each time they stand for something", node_limit),
             "large data belong into an HDF5 file");
  }

  void check(const YAML::Mark& at, const std::optional<NotationFault>& fault) {
    if (fault) error(mark(at), fault->message, fault->hint);
  }

  void check_tag(const YAML::Mark& at, const std::string& tag) {
    if (tag.empty() || tag == "?") return;
    const std::string name = tag.starts_with("tag:yaml.org,2002:") ? "!!" + tag.substr(18) : tag;
    error(mark(at), fmt::format("tag {}: tags are not accepted", printable(name)),
          "quote a text; leave the tag out otherwise");
  }

  static std::string no_colon_hint(const std::string& key) {
    const std::size_t colon = key.find(':');
    return colon == std::string::npos
               ? fmt::format("write '{}: …'", printable(key, 40))
               : fmt::format("write '{}: {}'", printable(key.substr(0, colon), 40), printable(key.substr(colon + 1), 40));
  }

  /// Characters a scalar takes on its line, for the caret line.
  int written_length(const YAML::Mark& at, const std::string& value) const {
    std::string_view line = line_at(at);
    const auto column = static_cast<std::size_t>(at.column + (at.line == 0 ? column_ - 1 : 0));
    if (column >= line.size()) return 1;
    line.remove_prefix(column);
    if (line.starts_with(value) && !value.empty()) return character_count(value);
    if (line[0] != '"' && line[0] != '\'') return 1;
    std::size_t end = 1;
    while (end < line.size() && line[end] != line[0]) end += line[0] == '"' && line[end] == '\\' ? 2 : 1;
    return character_count(line.substr(0, std::min(end + 1, line.size())));
  }

  void open(Node::Kind kind, const YAML::Mark& at, const std::string& tag, YAML::anchor_t anchor, bool flow) {
    if (!open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().key)
      refuse(mark(at), "a list or map as a key", "keys are words; is a bracket left open?");
    if (static_cast<int>(open_.size()) == depth_limit) refuse_depth(at);
    check_tag(at, tag);
    const std::size_t before = count_;
    count(at, 1);
    Open opened{.at = at, .anchor = anchor, .flow = flow, .count_before = before};
    opened.node.kind = kind;
    opened.node.mark = mark(at);
    open_.push_back(std::move(opened));
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) keep(closed.at, closed.anchor, closed.node, count_ - closed.count_before);
    place(std::move(closed.node), closed.at, false);
  }

  void add(Node node, const YAML::Mark& at, YAML::anchor_t anchor) {
    count(at, 1);
    if (anchor != YAML::NullAnchor) keep(at, anchor, node, 1);
    place(std::move(node), at, false);
  }

  /// Anchors inside anchors copy the same values again and again: the copies have a limit of their own.
  void keep(const YAML::Mark& at, YAML::anchor_t anchor, const Node& node, std::size_t size) {
    kept_ += size;
    if (kept_ > node_limit)
      refuse(mark(at), fmt::format("anchors on more than {} values", node_limit), "remove the unused ones");
    anchors_.emplace(anchor, Anchored{node, size, height(node)});
  }

  void place(Node node, const YAML::Mark& at, bool alias) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::sequence) {
      if (node.is_null()) error(mark(at), "a list item without a value", "remove it, or quote the text");
      parent.node.items.push_back(std::move(node));
    } else if (parent.key) {
      if (node.is_null()) node.mark = parent.key_mark;
      parent.node.entries.push_back({std::move(*parent.key), parent.key_mark, 0, std::move(node)});
      parent.key.reset();
    } else {
      add_key(parent, node, at, alias);
    }
  }

  void add_key(Open& parent, Node& node, const YAML::Mark& at, bool alias) {
    const Mark where = alias ? mark(at) : node.mark;
    if (alias || node.kind != Node::Kind::scalar || node.text.empty())
      refuse(where, "a key that is not a word", "keys are words");
    if (node.text == "<<" && !node.quoted)
      error(where, "merge keys (<<) are not accepted", "write the keys out, or use an alias for the whole map");
    const auto [earlier, fresh] = parent.lines.emplace(node.text, where.line);
    if (!fresh)
      error(where, fmt::format("key '{}' is given twice, first in line {}", printable(node.text), earlier->second),
            "keep one of them");
    parent.key = std::move(node.text);
    parent.key_mark = where;
    parent.key_position = at.pos;
  }

  std::string_view text_;
  std::shared_ptr<const Source> source_;
  int line_;
  int column_;
  Diagnostics& diagnostics_;
  int documents_ = 0;
  std::size_t count_ = 0;
  std::size_t kept_ = 0;
  mutable int counted_line_ = 0;
  mutable std::size_t counted_bytes_ = 0;
  mutable int counted_characters_ = 0;
  std::vector<Open> open_;
  std::set<std::string> anchor_names_;
  std::map<YAML::anchor_t, Anchored> anchors_;  ///< complete ones only: an alias to an open one is a cycle
  Node root_;
};

/// yaml-cpp's words in ours.
std::pair<std::string, std::string> explained(const std::string& message) {
  static const std::map<std::string, std::pair<std::string, std::string>> known{
      {"illegal map value",
       {"a ':' where no key can stand", "check the indentation and the line above; quote a text that holds ': '"}},
      {"end of map not found", {"this does not continue the map above", "check the indentation, quotes and brackets"}},
      {"end of map flow not found", {"the map in braces does not end here", "add , or }"}},
      {"end of sequence not found", {"this does not continue the list above", "check the indentation"}},
      {"end of sequence flow not found", {"the list in brackets does not end here", "add , or ]"}},
      {"illegal flow end", {"a bracket that was never opened", "remove it, or quote the text"}},
      {"illegal block entry", {"a '- ' where no list can stand", "check the indentation"}},
      {"illegal EOF in scalar", {"a quote that is never closed", "close it"}},
      {"illegal tab when looking for indentation", {"a tab in the indentation", "indent with spaces"}},
      {"the referenced anchor is not defined",
       {"an alias to an anchor that is not defined above", "quote a text that starts with *"}},
      {"unknown token", {"a character that cannot start a value", "quote the text"}},
  };
  const auto found = known.find(message);
  return found == known.end() ? std::pair<std::string, std::string>{message, ""} : found->second;
}

}  // namespace

std::optional<Node> parse_document(const std::string& text, const std::shared_ptr<const Source>& source, int line,
                                   int column, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  TreeBuilder builder(text, source, line, column, diagnostics);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
  } catch (const YAML::Exception& error) {
    const auto [message, hint] = explained(error.msg);
    diagnostics.error(builder.mark(error.mark), message, hint);
  }
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return builder.take();
}

Node parse_yaml(const std::string& text, const std::string& name, const std::filesystem::path& directory) {
  Diagnostics diagnostics;
  const auto checked = check_text(text, {.name = name, .directory = directory, .lines = {}}, diagnostics);
  diagnostics.throw_if_any();
  const auto root = parse_document(checked->text, checked->source, 1, 1, diagnostics);
  diagnostics.throw_if_any();
  if (root->is_null())
    diagnostics.error({checked->source}, "the config is empty", "it is a map of keys, such as 'flow: mmd'");
  else if (root->kind != Node::Kind::map)
    diagnostics.error(root->mark, fmt::format("a config is a map of keys, got {}", root->description()),
                      root->kind == Node::Kind::scalar ? "write 'key: value', with a space behind the colon" : "");
  diagnostics.throw_if_any();
  return *root;
}

Node load_yaml(const std::filesystem::path& file) {
  const std::string name = printable(file.string(), 200);
  std::error_code status;
  if (std::filesystem::is_directory(file, status)) throw ConfigError(fmt::format("{} is a folder, not a config", name));
  std::ifstream in(file, std::ios::binary);
  if (const int error = errno; !in)
    throw ConfigError(fmt::format("cannot read {}: {}{}", name, std::strerror(error),
                                  error == ENOENT ? printable(file_suggestion(file), 200) : ""));
  std::string text((1 << 20) + 1, '\0');  // one more than is accepted: /dev/zero ends too
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw ConfigError(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_yaml(text, file.string(), file.parent_path());
}

}  // namespace gaussflow::config
