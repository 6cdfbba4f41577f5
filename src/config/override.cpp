#include "gaussflow/core/error.hpp"

#include "text.hpp"
#include "yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace gaussflow::config {

namespace {

const std::string option = "--set ";

int highest_rank(const Node& node) {
  int rank = 0;
  for (const Node::Entry& entry : node.entries) rank = std::max({rank, entry.rank, highest_rank(entry.value)});
  return rank;
}

/// One --set as a source, and places in it.
class Flag {
 public:
  Flag(const std::string& assignment, const std::filesystem::path& directory) {
    Source source{.name = option + assignment, .directory = directory, .lines = {}, .flag = true};
    checked_text(source.name, source);
    source_ = std::make_shared<const Source>(std::move(source));
  }
  const std::shared_ptr<const Source>& source() const { return source_; }

  /// Bytes [at, at + length) of the assignment.
  Mark mark(std::size_t at, std::size_t length) const {
    const std::string_view text = source_->name;
    const std::size_t first = option.size() + at;
    return {source_, 1, character_count(text.substr(0, first)) + 1,
            std::max(1, character_count(text.substr(first, length)))};
  }

 private:
  std::shared_ptr<const Source> source_;
};

/// The value: a YAML scalar, or a list or map in brackets.
std::optional<Node> read_value(const Flag& flag, const std::string& value, std::size_t at, Diagnostics& diagnostics) {
  const auto column = [&](std::size_t offset) { return static_cast<int>(option.size() + at + offset + 1); };
  const std::string_view brackets = "[{\"'";
  if (brackets.find(value.front()) != std::string_view::npos) {
    // Inside brackets of our own a comment or anything behind the value is an error, not silence.
    Node list = parse_document("[" + value + "]", flag.source(), 1, column(0) - 1);
    if (list.kind == Node::Kind::sequence && list.items.size() == 1) return std::move(list.items.front());
    diagnostics.error(flag.mark(at, value.size()), "one value is needed, got several", "write a list in brackets");
    return std::nullopt;
  }
  Node node = parse_document(value, flag.source(), 1, column(0));
  const bool null = node.is_null() && (value == "null" || value == "~");
  if (null || (node.kind == Node::Kind::scalar && node.text == value)) {
    if (null) node.mark = flag.mark(at, value.size());
    return node;
  }
  diagnostics.error(flag.mark(at, value.size()), fmt::format("'{}' is not one plain value", printable(value)),
                    "quote it, or write a list in [ ] or a map in { }");
  return std::nullopt;
}

Node::Entry& find_or_add(Node& map, const std::string& key, const Mark& mark) {
  for (Node::Entry& entry : map.entries)
    if (entry.key == key) return entry;
  map.entries.push_back({key, mark, 0, {}});
  map.entries.back().value.mark = mark;
  return map.entries.back();
}

/// What stands in place of a map goes under the empty key.
void make_map(Node& node, int rank) {
  if (node.kind == Node::Kind::map) return;
  Node map;
  map.kind = Node::Kind::map;
  map.mark = node.mark;
  if (!node.is_null()) map.entries.push_back({"", node.mark, rank, std::move(node)});
  node = std::move(map);
}

std::optional<std::vector<std::pair<std::string, Mark>>> read_path(const Flag& flag, const std::string& path,
                                                                   Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, Mark>> keys;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    if (end == at) {
      diagnostics.error(flag.mark(at, 1), "an empty key", "write --set section.key=value");
      return std::nullopt;
    }
    keys.emplace_back(path.substr(at, end - at), flag.mark(at, end - at));
    at = end + 1;
  }
  if (keys.size() > 32) {
    diagnostics.error(flag.mark(0, path.size()), "nested deeper than 32 levels");
    return std::nullopt;
  }
  return keys;
}

}  // namespace

void apply_override(Node& root, const std::string& assignment, const std::filesystem::path& directory,
                    Diagnostics& diagnostics) {
  std::optional<Flag> made;
  std::optional<Node> value;
  std::optional<std::vector<std::pair<std::string, Mark>>> path;
  try {
    if (assignment.find('\n') != std::string::npos || assignment.find('\r') != std::string::npos)
      throw ConfigError(option + printable(assignment) + ": a line break; write a list in [ ] or a map in { }");
    const Flag& flag = made.emplace(assignment, directory);
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      diagnostics.error(flag.mark(0, assignment.size()), "no '=' in it", "write --set section.key=value");
      return;
    }
    path = read_path(flag, assignment.substr(0, equals), diagnostics);
    const std::size_t first = assignment.find_first_not_of(' ', equals + 1);
    if (first == std::string::npos) {
      diagnostics.error(flag.mark(equals, 1), "no value behind '='", "write null or '' if that is meant");
      return;
    }
    const std::size_t last = assignment.find_last_not_of(' ');
    value = read_value(flag, assignment.substr(first, last + 1 - first), first, diagnostics);
  } catch (const ConfigError& error) {
    diagnostics.error({}, error.what());
    return;
  }
  if (!path || !value) return;

  const int rank = highest_rank(root) + 1;
  Node* node = &root;
  int above = 0;  // rank of what stands at `node`
  for (const auto& [key, mark] : *path) {
    make_map(*node, above);
    Node::Entry& entry = find_or_add(*node, key, mark);
    above = entry.rank;
    entry.rank = rank;
    entry.mark = mark;
    node = &entry.value;
  }
  // A bare value set on a map stands for its main key; braces replace the map.
  if (node->kind == Node::Kind::map && (value->kind == Node::Kind::scalar || value->kind == Node::Kind::sequence)) {
    Node::Entry& shorthand = find_or_add(*node, "", value->mark);
    shorthand.rank = rank;
    shorthand.mark = value->mark;
    node = &shorthand.value;
  }
  *node = std::move(*value);
}

}  // namespace gaussflow::config
