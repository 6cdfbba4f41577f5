#pragma once
/// What the user sees while it runs, on stderr: a bar on a terminal, else a line at 1, 2, 5, 10 … % and every 60 s.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace gaussflow::run {

enum class ProgressMode { automatic, bar, plain, none };

/// "[####    ] [ 60%] step 12000/20000  ETA 19 s  …" of at most `width` characters: two parts, the bar and the other parts, as
/// far as they fit.
std::string progress_line(double percent, const std::vector<std::string>& parts, std::size_t width, bool bar);

class Progress {
 public:
  Progress(ProgressMode mode, std::int64_t first, std::int64_t count);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `detail` ("mmd2 3.1e-04  tau 4.2") is shown beside step, speed and remaining time.
  void show(std::int64_t step, const std::string& detail);

  /// Ends the bar's line, so that a message can follow.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  ProgressMode mode_;
  std::int64_t first_;
  std::int64_t count_;
  Clock::time_point start_;
  Clock::time_point last_;
  double next_percent_ = 1;
  bool open_line_ = false;
};

}  // namespace gaussflow::run
