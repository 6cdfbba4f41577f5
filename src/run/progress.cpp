#include "run/progress.hpp"

#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"

#include "run/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace gaussflow::run {

namespace {

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

/// 1, 2, 5, 10, 20, … 100.
double next_mark(double percent) {
  for (const double mark : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0})
    if (mark > percent) return mark;
  return 1e9;
}

}  // namespace

std::string progress_line(double percent, const std::vector<std::string>& parts, std::size_t width, bool bar) {
  std::string line = fmt::format("[{:3.0f}%]", std::floor(percent));
  constexpr std::size_t shortest = 8, longest = 24, frame = 3, before_bar = 2;
  std::size_t room = width;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (bar && i == before_bar && line.size() + frame + shortest <= width) room = width - frame - shortest;
    if (!parts[i].empty() && line.size() + 2 + parts[i].size() <= room)
      line += (line.ends_with(']') ? " " : "  ") + parts[i];
  }
  if (bar && line.size() + frame + shortest <= width) {
    const std::size_t cells = std::min(longest, width - line.size() - frame);
    const auto done = static_cast<std::size_t>(percent / 100 * static_cast<double>(cells));
    line = fmt::format("[{}{}] ", std::string(done, '#'), std::string(cells - done, ' ')) + line;
  }
  if (line.size() > width) line.resize(width);
  return line;
}

Progress::Progress(ProgressMode mode, std::int64_t first, std::int64_t count)
    : mode_(mode == ProgressMode::automatic ? (is_terminal() ? ProgressMode::bar : ProgressMode::plain) : mode),
      first_(first),
      count_(count),
      start_(Clock::now()),
      last_(start_) {
  if (count_ > 0) next_percent_ = next_mark(100.0 * static_cast<double>(first_) / static_cast<double>(count_));
}

Progress::~Progress() { clear(); }

void Progress::show(std::int64_t step, const std::string& detail) {
  if (mode_ == ProgressMode::none || count_ <= 0) return;
  const auto now = Clock::now();
  const double since = std::chrono::duration<double>(now - last_).count();
  const double percent = 100.0 * static_cast<double>(step) / static_cast<double>(count_);
  const bool bar = mode_ == ProgressMode::bar;
  const bool due = bar ? since > 0.1 || step == count_ : percent >= next_percent_ || since > 60;
  if (!due) return;
  last_ = now;
  next_percent_ = next_mark(percent);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double speed = static_cast<double>(step - first_) / std::max(elapsed, 1e-9);
  const bool moving = speed > 0 && step > first_;
  std::string left = moving && step < count_ ? "ETA " + duration_text(static_cast<double>(count_ - step) / speed) : "";
  // The last ones go first where the terminal is narrow.
  const std::vector<std::string> parts{fmt::format("step {}/{}", step, count_), std::move(left),
                                       moving ? fmt::format("{:.3g} steps/s", speed) : "", detail};
  const std::size_t width = bar ? terminal_width(STDERR_FILENO) - 1 : std::string::npos;
  std::string line = progress_line(percent, parts, width, bar);
  if (bar) {
    std::fputs(fmt::format("\r\033[K{}", line).c_str(), stderr);
    std::fflush(stderr);
    open_line_ = true;
  } else {
    say("{}\n", line);
  }
}

void Progress::clear() {
  if (open_line_) say("\n");
  open_line_ = false;
}

}  // namespace gaussflow::run
