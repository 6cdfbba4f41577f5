#include "run/terminal.hpp"

#include "gaussflow/config/value.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

namespace gaussflow::run {

std::size_t terminal_width(int descriptor) {
  constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max(), usual = 80;
  winsize size{};
  const std::int64_t there = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : unknown;
  const char* text = std::getenv("COLUMNS");
  const std::optional<std::int64_t> asked = text ? config::parse_integer(text) : std::nullopt;
  const std::int64_t width = std::min(there, asked && *asked > 0 ? *asked : unknown);
  return static_cast<std::size_t>(width == unknown ? usual : width);
}

}  // namespace gaussflow::run
