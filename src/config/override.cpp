#include "text.hpp"
#include "yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace gaussflow::config {

namespace {

const std::string option = "--set ";
constexpr std::size_t depth_limit = 32;

int highest_rank(const Node& node) {
  int rank = 0;
  for (const Node::Entry& entry : node.entries) rank = std::max({rank, entry.rank, highest_rank(entry.value)});
  return rank;
}

/// Bytes [at, at + length) of the source's only line.
Mark place(const std::shared_ptr<const Source>& source, std::size_t at, std::size_t length) {
  const std::string_view text = source->lines.front();
  return {source, 1, character_count(text.substr(0, at)) + 1, std::max(1, character_count(text.substr(at, length)))};
}

/// Does a '#' outside quotes start a comment?
bool has_comment(const std::string& value) {
  char quote = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (quote != 0 && c == '\\' && quote == '"')
      ++i;
    else if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'')
      quote = c;
    else if (c == '#' && i > 0 && (value[i - 1] == ' ' || value[i - 1] == '\t'))
      return true;
  }
  return false;
}

/// The value: a YAML scalar, or a list or map in brackets. Whatever YAML would drop (a comment, an anchor) is refused.
std::optional<Node> read_value(const std::shared_ptr<const Source>& source, const std::string& value, std::size_t at,
                               Diagnostics& diagnostics) {
  const auto column = static_cast<int>(at + 1);
  const Mark whole = place(source, at, value.size());
  if (std::string_view("[{\"'").find(value.front()) != std::string_view::npos) {
    if (has_comment(value)) {
      diagnostics.error(whole, "a comment in a value", "quote a text that holds ' #'");
      return std::nullopt;
    }
    // Inside brackets of our own, anything behind the value is an error or a second item, not silence.
    auto list = parse_document("[" + value + "]", source, 1, column - 1, diagnostics);
    if (!list) return std::nullopt;
    if (list->kind == Node::Kind::sequence && list->items.size() == 1) return std::move(list->items.front());
    diagnostics.error(whole, "one value is needed, got several", "write a list in [ ]");
    return std::nullopt;
  }
  auto node = parse_document(value, source, 1, column, diagnostics);
  if (!node) return std::nullopt;
  const bool null = node->is_null() && (value == "null" || value == "~");
  if (null) node->mark = whole;
  if (null || (node->kind == Node::Kind::scalar && node->text == value)) return node;
  diagnostics.error(whole, fmt::format("'{}' is not one plain value", printable(value)),
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

/// What stands in place of a map goes under the empty key; from now on it is the --set that makes it a map.
void make_map(Node& node, int rank, const Mark& mark) {
  if (node.kind == Node::Kind::map) return;
  Node map;
  map.kind = Node::Kind::map;
  map.mark = mark;
  if (!node.is_null()) map.entries.push_back({"", node.mark, rank, std::move(node)});
  node = std::move(map);
}

struct Step {
  std::string key;
  Mark mark;
};

/// The steps of a path that stands behind --set, or that a flag of its own stands for.
std::optional<std::vector<Step>> read_path(const std::shared_ptr<const Source>& source, const std::string& path,
                                           const std::string& flag, Diagnostics& diagnostics) {
  std::vector<Step> steps;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    const Mark mark =
        flag.empty() ? place(source, option.size() + at, std::max<std::size_t>(1, end - at)) : place(source, 0, flag.size());
    if (end == at || steps.size() == depth_limit) {
      diagnostics.error(mark, end == at ? "an empty key" : "nested deeper than 32 levels", "write --set section.key=value");
      return std::nullopt;
    }
    steps.push_back({path.substr(at, end - at), mark});
    at = end + 1;
  }
  return steps;
}

/// The node of the last step, made where it is not there yet; `rank` goes to every entry on the way.
Node& descend(Node& root, const std::vector<Step>& steps, int rank) {
  Node* node = &root;
  int rank_there = 0;
  for (const auto& [key, mark] : steps) {
    make_map(*node, rank_there, mark);
    Node::Entry& entry = find_or_add(*node, key, mark);
    rank_there = entry.rank;
    entry.rank = rank;
    entry.mark = mark;
    node = &entry.value;
  }
  return *node;
}

}  // namespace

void apply_override(Node& root, const std::string& assignment, const std::filesystem::path& directory,
                    Diagnostics& diagnostics, const std::string& flag) {
  const std::size_t equals = assignment.find('=');
  const std::string shown = flag.empty() ? option + assignment : flag + " " + assignment.substr(equals + 1);
  const auto checked = check_text(shown, {.name = shown, .directory = directory, .lines = {}, .flag = true}, diagnostics);
  if (!checked) return;
  const std::shared_ptr<const Source>& source = checked->source;
  if (assignment.find('\n') != std::string::npos)
    return diagnostics.error({source}, "a line break", "write a list in [ ] or a map in { }");
  if (equals == std::string::npos)
    return diagnostics.error(place(source, option.size(), assignment.size()), "no '=' in it",
                             "write --set section.key=value");
  const auto steps = read_path(source, assignment.substr(0, equals), flag, diagnostics);
  const std::size_t first = assignment.find_first_not_of(' ', equals + 1);
  if (first == std::string::npos)
    return diagnostics.error(place(source, shown.size() - assignment.size() + equals, 1), "no value behind '='",
                             "write null or '' if that is meant");
  const std::size_t end = assignment.find_last_not_of(' ') + 1;
  auto value =
      read_value(source, assignment.substr(first, end - first), shown.size() - assignment.size() + first, diagnostics);
  if (!steps || !value) return;

  const int rank = highest_rank(root) + 1;
  Node* node = &descend(root, *steps, rank);
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
