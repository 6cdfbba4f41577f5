#pragma once
/// metrics.csv: one header, one row for each recorded step, none doubled or lost across resumes.

#include "gaussflow/flow/simulation.hpp"

#include <cstdint>
#include <filesystem>

namespace gaussflow::run {

class MetricsFile {
 public:
  explicit MetricsFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Drops the rows beyond `step` and a last line that a kill cut short. Returns the last step that has a row, -1 for none.
  std::int64_t cut(std::int64_t step);

  /// Appends a row; writes the header first where the file is new. Throws IoError.
  void append(const Measurement& measurement, double wall_seconds);

  /// Makes the rows durable, so that a checkpoint never knows of steps the metrics have lost.
  void sync() const;

 private:
  std::filesystem::path file_;
};

}  // namespace gaussflow::run
