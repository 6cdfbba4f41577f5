#pragma once
/// From a config to the objects of a run.

#include "gaussflow/core/state.hpp"
#include "gaussflow/flow/flow.hpp"
#include "gaussflow/target/target.hpp"

#include "run/config.hpp"

#include <cstdint>
#include <memory>

namespace gaussflow::run {

/// Flow and target of a config, on its device and threads, which are set first: everything after allocates there.
struct Parts {
  c10::Device device;
  std::unique_ptr<Target> target;
  std::unique_ptr<Flow> flow;
};
Parts make_parts(const RunConfig& config);

/// The particles before the first step.
State start_state(const RunConfig& config, const Parts& parts);

/// Steps between rows of metrics.csv and between frames; 0: none.
std::int64_t metrics_interval(const RunConfig& config);
std::int64_t trajectory_interval(const RunConfig& config, const Tensor& x);

}  // namespace gaussflow::run
