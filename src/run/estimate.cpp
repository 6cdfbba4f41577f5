#include "run/estimate.hpp"

#include "gaussflow/core/text.hpp"
#include "gaussflow/flow/simulation.hpp"
#include "gaussflow/flow/verdict.hpp"

#include "run/prepare.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace gaussflow::run {

namespace {

/// The first k particles of a state that is a start.
State first_of(const State& state, std::int64_t k) {
  State few;
  few.x = state.x.slice(0, 0, k).contiguous();
  if (state.log_weights.defined()) few.log_weights = state.log_weights.slice(0, 0, k);
  return few;
}

/// Times steps of ever more particles until one takes long enough to be measured, and extends them to all as a k + b k².
/// Takes about half a second whatever their number.
void time_steps(const RunConfig& config, const Parts& parts, const State& state, Estimate& result) {
  constexpr double enough = 0.05;
  const std::int64_t n = state.x.size(0);
  double before = 0;
  std::int64_t k_before = 0;
  for (std::int64_t k = std::min<std::int64_t>(n, 128);; k = std::min(n, 2 * k)) {
    Simulation simulation(config.simulation(), *parts.flow, *parts.target, first_of(state, k), [](const Note&) {});
    if (k_before == 0) simulation.step();  // warms up
    const auto begun = std::chrono::steady_clock::now();
    simulation.step();
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    if (k < n && now < enough) {
      before = now;
      k_before = k;
      continue;
    }
    const auto share = static_cast<double>(n) / static_cast<double>(k);
    double square = now;  // the part that grows with k²
    if (k_before > 0 && k == 2 * k_before) square = std::clamp(2 * (now - 2 * before), 0.0, now);
    result.timed = k;
    result.seconds_per_step = square * share * share + (now - square) * share;
    for (const auto& [name, slot] : simulation.state().slots)
      result.slots += static_cast<double>(slot.nbytes()) * (slot.dim() > 0 && slot.size(0) == k ? share : 1);
    return;
  }
}

}  // namespace

Estimate estimate(const RunConfig& config) {
  const Parts parts = make_parts(config);
  const State state = start_state(config, parts);
  Estimate result;
  result.particles = state.x.size(0);
  result.dim = state.x.size(1);
  const auto frame = static_cast<double>(state.x.nbytes());
  const std::int64_t every = trajectory_interval(config, state.x);
  const double frames = every > 0 ? 1 + static_cast<double>(config.step.count) / static_cast<double>(every) : 0;

  const Simulation simulation(config.simulation(), *parts.flow, *parts.target, state,
                              [&](const Note& note) { result.warnings.push_back(note.text); });
  for (const Note& note : inspect_start(simulation)) result.warnings.push_back(note.text);
  if (config.step.count > 0) time_steps(config, parts, state, result);
  result.seconds = result.seconds_per_step * static_cast<double>(config.step.count);
  const double checkpoint = frame + result.slots + 32768;
  result.disk = checkpoint * static_cast<double>(config.checkpoint.keep) + frames * frame + frame;
  // State, its successor and the stepper's; operands of the sum, packed, for particles and targets.
  const double samples =
      parts.target->has_samples() ? static_cast<double>(parts.target->all_samples(at::kDouble).points.nbytes()) : 0;
  result.memory = 2 * (frame + result.slots) + 6 * frame + 4 * samples;
  return result;
}

std::string Estimate::text() const {
  std::string time;
  if (timed > 0)
    time = fmt::format(", {} (one step: {:.2g} ms, estimated from steps of {})", duration_text(seconds),
                       1e3 * seconds_per_step, counted(timed, "particle"));
  return fmt::format("{} in {}, about {} of memory, {} on disk{}", counted(particles, "particle"), counted(dim, "dimension"),
                     bytes_text(memory), bytes_text(disk), time);
}

}  // namespace gaussflow::run
