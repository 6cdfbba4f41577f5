#pragma once
/// What a run will need, found by loading its target and making one step.

#include "run/config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gaussflow::run {

struct Estimate {
  std::int64_t particles = 0;
  std::int64_t dim = 0;
  double memory = 0;  ///< bytes, resident, beyond the program itself
  double disk = 0;    ///< bytes in the run directory at the end
  double seconds_per_step = 0;
  double seconds = 0;  ///< of the whole run
  std::vector<std::string> warnings;
};

/// Throws what `start` would throw before its first step, and NumericalError when that step fails.
Estimate estimate(const RunConfig& config);

}  // namespace gaussflow::run
