#include "run/estimate.hpp"

#include "gaussflow/flow/simulation.hpp"
#include "gaussflow/flow/verdict.hpp"

#include "run/prepare.hpp"

#include <ATen/ATen.h>

#include <chrono>

namespace gaussflow::run {

Estimate estimate(const RunConfig& config) {
  const Parts parts = make_parts(config);
  State state = start_state(config, parts);
  Estimate result;
  result.particles = state.x.size(0);
  result.dim = state.x.size(1);
  const auto frame = static_cast<double>(state.x.nbytes());
  const std::int64_t every = trajectory_interval(config, state.x);
  const double frames = every > 0 ? 1 + static_cast<double>(config.step.count) / static_cast<double>(every) : 0;

  Simulation simulation(config.simulation(), *parts.flow, *parts.target, std::move(state),
                        [&](const Note& note) { result.warnings.push_back(note.text); });
  for (const Note& note : inspect_start(simulation)) result.warnings.push_back(note.text);
  if (config.step.count > 0) {
    simulation.step();  // the first one also warms up
    const auto begun = std::chrono::steady_clock::now();
    simulation.step();
    result.seconds_per_step = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }
  result.seconds = result.seconds_per_step * static_cast<double>(config.step.count);
  double slots = 0;
  for (const auto& [name, slot] : simulation.state().slots) slots += static_cast<double>(slot.nbytes());
  const double checkpoint = frame + slots + 32768;
  result.disk = checkpoint * static_cast<double>(config.checkpoint.keep) + frames * frame + frame;
  // State, its successor and the stepper's; operands of the sum, packed, for particles and targets.
  const double samples =
      parts.target->has_samples() ? static_cast<double>(parts.target->all_samples(at::kDouble).points.nbytes()) : 0;
  result.memory = 2 * (frame + slots) + 6 * frame + 4 * samples;
  return result;
}

}  // namespace gaussflow::run
