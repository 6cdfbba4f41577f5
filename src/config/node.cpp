#include "gaussflow/config/node.hpp"

#include "text.hpp"

#include <fmt/format.h>

namespace gaussflow::config {

const Node::Entry* Node::entry(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

const Node* Node::find(std::string_view key) const {
  const Entry* found = entry(key);
  return found ? &found->value : nullptr;
}

const Mark& Node::at(std::string_view key) const {
  const Entry* found = entry(key);
  if (!found) return mark;
  return found->value.is_null() ? found->mark : found->value.mark;
}

std::string Node::description() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::sequence:
      return items.empty() ? "an empty list" : "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  return fmt::format("'{}'", printable(text));
}

}  // namespace gaussflow::config
