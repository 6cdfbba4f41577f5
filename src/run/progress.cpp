#include "run/progress.hpp"

#include "gaussflow/core/text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace gaussflow::run {

namespace {

bool is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// 1, 2, 5, 10, 20, … 100.
double next_mark(double percent) {
  for (const double mark : {1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0})
    if (mark > percent) return mark;
  return 1e9;
}

}  // namespace

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
  std::string line = fmt::format("[{:3.0f}%] step {}/{}", percent, step, count_);
  if (!detail.empty()) line += "  " + detail;
  if (speed > 0 && step > first_) {
    line += fmt::format("  {:.3g} steps/s", speed);
    if (step < count_) line += "  ETA " + duration_text(static_cast<double>(count_ - step) / speed);
  }
  if (bar) {
    line.resize(std::min(line.size(), terminal_width() - 1));
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
    open_line_ = true;
  } else {
    fmt::print(stderr, "{}\n", line);
  }
}

void Progress::clear() {
  if (open_line_) fmt::print(stderr, "\n");
  open_line_ = false;
}

}  // namespace gaussflow::run
