#pragma once
/// What the declarations say, for a terminal, a manual page, an editor and a first config. Nothing here is written by hand.

#include "gaussflow/config/section.hpp"

#include <string>
#include <vector>

namespace gaussflow::config {

/// One line a key, in aligned columns: name, type, default, what it means; sections as dotted names.
std::string keys_text(const std::vector<KeyInfo>& keys, int width = 110);

/// The same as a Markdown table, with what a resumed run may change.
std::string keys_markdown(const std::vector<KeyInfo>& keys);

/// A config of these keys at their defaults, each with a comment. A required key shows its example.
std::string example_yaml(const std::vector<KeyInfo>& keys);

/// JSON Schema (draft 2020-12) that accepts what Schema::read accepts, shorthands included.
Json json_schema(const std::vector<KeyInfo>& keys, const std::string& title);

}  // namespace gaussflow::config
