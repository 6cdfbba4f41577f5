#pragma once
/// What moves the particles. A flow is a formula: options, velocity, energy, one registration line.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/registry.hpp"
#include "gaussflow/core/state.hpp"
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

/// Time derivative of a State; an undefined tensor is zero.
struct Rate {
  Tensor dx;            ///< [M, D]
  Tensor dlog_weights;  ///< [M]
};

/// What the flow asks of the run's defaults.
struct FlowTraits {
  bool needs_samples = false;
  bool needs_density = false;
  bool whiten = false;               ///< precondition: diag is the default
  bool pooled_bandwidth = false;     ///< τ from particles and targets together, once; else from the particles, refreshed
  std::string default_method = "euler";
};

class Flow {
 public:
  virtual ~Flow() = default;
  virtual FlowTraits traits() const = 0;

  /// Once a step, before any rate: annealing, adaptive schedules. The only place where a flow may change the state.
  virtual void refresh(State&, const FlowContext&) const {}

  /// The velocity at `at` when the particles are `keys` (at ≠ keys.x: noise injection, inner stages).
  virtual Rate rate(const Tensor& at, const State& keys, const FlowContext& context) const = 0;

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
