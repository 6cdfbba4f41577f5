#pragma once
/// UTF-8 and excerpts, inside config only.

#include "gaussflow/config/node.hpp"
#include "gaussflow/core/text.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace gaussflow::config {

/// Characters of a valid UTF-8 text.
int character_count(std::string_view text);

/// "configs/ring.yaml:7:3", or the flag itself.
std::string place_text(const Mark& mark);

/// The source line with the caret line below it and the hint behind the caret; empty when there is no line to show.
std::string excerpt(const Mark& mark, const std::string& hint);

}  // namespace gaussflow::config
