#pragma once
/// Messages to a person, on stderr.

#include "gaussflow/core/text.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace gaussflow {

/// As fmt::print(stderr, …), but a terminal that is gone or a log on a full disk never ends a run: nothing is thrown. Names
/// from files may hold anything: control characters reach no terminal.
template <class... T>
void say(fmt::format_string<T...> format, T&&... arguments) {
  std::fputs(printable_lines(fmt::format(format, std::forward<T>(arguments)...)).c_str(), stderr);
}

}  // namespace gaussflow
