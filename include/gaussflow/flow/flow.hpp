#pragma once
/// What moves the particles. A flow is a formula: options, velocity, energy, one registration line.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/registry.hpp"
#include "gaussflow/core/state.hpp"
#include "gaussflow/flow/stepper.hpp"
#include "gaussflow/kernel/kernel.hpp"
#include "gaussflow/target/target.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace gaussflow {

/// What a flow is given in each step. Particles, target and τ are all in the coordinates the kernel measures in (whitened
/// where the run whitens); the engine maps there and back, a flow never sees the difference.
struct FlowContext {
  const Target& target;
  const Kernel& kernel;
  std::uint64_t seed;
  std::int64_t step;     ///< index of the step being made, from 0
  std::int64_t horizon;  ///< planned number of steps, for schedules

  /// Key of this step's random numbers: the same for every evaluation within the step.
  Draw draw(Stream stream) const { return {seed, stream, static_cast<std::uint64_t>(step)}; }
};

/// What the flow needs, and its defaults.
struct FlowTraits {
  bool needs_samples = false;
  bool needs_density = false;
  bool whiten = false;            ///< measure distances in units of the running particle sd
  bool pooled_bandwidth = false;  ///< τ from particles and targets together, once; else from the particles, refreshed
  Method method = Method::euler;  ///< the stepper when step.method is not set
  double size = 0;                ///< step.size when not set; 0: safe_step(τ)
  Schedule schedule = Schedule::constant;
};

class Flow {
 public:
  virtual ~Flow() = default;
  virtual FlowTraits traits() const = 0;

  /// Once a step, before any velocity: adaptive schedules. The only place where a flow may change the state.
  virtual void refresh(State&, const FlowContext&) const {}

  /// The velocity [M, D] at `at` [M, D] when the particles are `keys` (at ≠ keys.x: noise injection, random batches).
  virtual Tensor velocity(const Tensor& at, const State& keys, const FlowContext& context) const = 0;

  /// The functional that the flow descends, where there is one: Armijo, restart, logging.
  virtual std::optional<double> energy(const State&, const FlowContext&) const { return std::nullopt; }

  /// A step size that is sure to decrease the energy for this τ, the default of step.size; empty: none known.
  virtual std::optional<double> safe_step(double /*tau*/) const { return std::nullopt; }
};

using FlowPlugin = config::Plugin<Flow>;
using ChosenFlow = config::Chosen<Flow>;

/// Registers a flow under `name`; the factory is unique_ptr<Flow>(const Options&).
template <class Options, class Factory>
bool register_flow(const std::string& name, config::Schema<Options> schema, Factory factory) {
  return Registry<FlowPlugin>::instance().add(name, config::make_plugin<Flow>(name, std::move(schema), std::move(factory)));
}

/// Normalised weights of a state, [N] in x's dtype: uniform when log_weights is undefined.
Tensor weights(const State& state);

}  // namespace gaussflow
