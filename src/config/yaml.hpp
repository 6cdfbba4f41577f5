#pragma once
/// From text to Node, for files and for the value of one --set.

#include "gaussflow/config/node.hpp"

#include <memory>
#include <string>

namespace gaussflow::config {

/// Refuses what is no UTF-8 text or no sane layout (control characters, tabs as indentation, directives), drops the byte
/// order mark and turns CRLF into LF. `source` gets the lines.
std::string checked_text(std::string text, Source& source);

/// Reads one document of any kind from checked text. `line` and `column` are where the text starts in its source.
/// Throws  ConfigError.
Node parse_document(const std::string& text, const std::shared_ptr<const Source>& source, int line = 1, int column = 1);

}  // namespace gaussflow::config
