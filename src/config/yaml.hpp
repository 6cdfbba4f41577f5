#pragma once
/// From text to Node, for files and for the value of one --set.

#include "gaussflow/config/node.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gaussflow::config {

/// A text that may be parsed: UTF-8 without byte order mark, lines end with LF.
struct CheckedText {
  std::string text;
  std::shared_ptr<const Source> source;  ///< with its lines
};

/// Refuses what is no UTF-8 text or no sane layout: control characters, tabs as indentation, directives.
std::optional<CheckedText> check_text(const std::string& text, Source source, Diagnostics& diagnostics);

/// Reads one document of any kind. `line` and `column` are where the text starts in its source, counted from 1 and in bytes.
std::optional<Node> parse_document(const std::string& text, const std::shared_ptr<const Source>& source, int line,
                                   int column, Diagnostics& diagnostics);

}  // namespace gaussflow::config
