#pragma once
/// Did it work? Words for what the end of a run looks like; never "converged" for a cloud that merely cannot move.

#include "gaussflow/flow/simulation.hpp"

#include <string>

namespace gaussflow {

struct Verdict {
  std::string word;  ///< converged, moving, stalled, no pull, no interaction, too wide, collapsed,
                     ///< biased, one particle, diverged
  std::string text;  ///< one or two sentences with numbers and what to do next
};

/// Judges the current state, against `start` [N, D] where it is given: only then can it be diverged. Costs some sums; for a
/// stationary MMD flow also a trial of a perturbed copy.
Verdict judge(const Simulation& simulation, const Tensor& start = {});

/// Warnings worth giving before the first step: particles blind to the targets, duplicates, expected variance collapse,
/// a step without guarantee, badly scaled coordinates.
std::vector<Note> inspect_start(const Simulation& simulation);

}  // namespace gaussflow
