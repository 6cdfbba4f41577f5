#pragma once
/// What a run is between two steps: all of it is in the checkpoint, and nothing else is needed to go on.

#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gaussflow {

/// Named tensors of the stepper, the bandwidth, the preconditioner …; checkpointed unseen.
using Slots = std::map<std::string, Tensor>;

struct State {
  Tensor x;               ///< particles [N, D], fp32 or fp64, in original units
  Tensor log_weights;     ///< [N] fp64, or undefined for equal weights
  Slots slots;            ///< any names but '/' and '.'
  std::int64_t step = 0;  ///< finished steps
  double time = 0;        ///< sum of step sizes
};

/// What a checkpoint says of the target, so that a resumed run meets the same one.
struct TargetRecord {
  std::string kind;                 ///< registered name
  std::string digest;               ///< SHA-256 of its data; empty when the config says it all
  std::vector<std::int64_t> shape;  ///< of its data
  bool operator==(const TargetRecord&) const = default;
};

}  // namespace gaussflow
