#pragma once
/// Notations that yaml-cpp accepts although they lose text.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gaussflow::config {

struct NotationFault {
  std::string message;
  std::string hint;
};

/// What is wrong with the quoted, block or tagged scalar that starts at `at`, an anchor before it included: a quote that is
/// never closed, a text behind | or >, a bare ! tag.
std::optional<NotationFault> notation_fault(std::string_view text, std::size_t at);

/// What is wrong with the value of a scalar: yaml-cpp turns the escapes \_ and \N into bytes that are no UTF-8, and a NUL
/// would end a file name.
std::optional<NotationFault> value_fault(std::string_view value);

}  // namespace gaussflow::config
