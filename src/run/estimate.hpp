#pragma once
/// What a run will need, found by loading its target and making steps of some of the particles.

#include "run/config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gaussflow::run {

struct Estimate {
  std::int64_t particles = 0;
  std::int64_t dim = 0;
  double memory = 0;       ///< bytes, resident, beyond the program itself
  double disk = 0;         ///< bytes in the run directory at the end
  double slots = 0;        ///< bytes of what the stepper keeps
  std::int64_t timed = 0;  ///< particles in the steps that were timed; 0: none were
  double seconds_per_step = 0;
  double seconds = 0;  ///< of the whole run
  std::vector<std::string> warnings;

  /// "2000 particles in 2 dimensions, about …".
  std::string text() const;
};

/// Throws what `start` would throw before its first step, and NumericalError when that step fails. Takes about a second
/// beside the loading of the target, however many particles there are.
Estimate estimate(const RunConfig& config);

}  // namespace gaussflow::run
