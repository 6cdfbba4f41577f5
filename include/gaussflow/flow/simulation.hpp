#pragma once
/// A run without its files: a flow moves particles towards a target, step by step, as a pure function of State.

#include "gaussflow/flow/flow.hpp"
#include "gaussflow/flow/options.hpp"
#include "gaussflow/kernel/mmd.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow {

struct SimulationOptions {
  KernelOptions kernel;
  StepOptions step;
  ComputeOptions compute;
  std::uint64_t seed = 0;
};

/// Something the user should know: a warning, or an automatic choice.
struct Note {
  bool warning = false;
  std::string text;
};

/// What is recorded of a state; a name without a value does not apply to this flow.
struct Measurement {
  std::int64_t step = 0;
  double time = 0;
  std::vector<std::pair<std::string, std::optional<double>>> values;
  std::optional<MmdForms> mmd;  ///< what mmd2 is made of, where the target has samples
  std::optional<double> value(const std::string& name) const;
};

/// Which particles [n] are out of the targets' reach: they feel less than a thousandth of one target (Σ b² is its weight),
/// so that as many steps would hardly move them.
Tensor blind(const MmdForms& forms);

class Simulation {
 public:
  /// `state` is a start (step 0) or what a checkpoint held; flow and target must outlive the simulation.
  /// Throws  ConfigError when flow and target do not fit; InputError when dimensions differ.
  Simulation(SimulationOptions options, const Flow& flow, const Target& target, State state,
             std::function<void(const Note&)> tell);

  /// Fills what was left to the flow: step.method, schedule and horizon, kernel.refresh.
  static void resolve(SimulationOptions& options, const FlowTraits& traits);

  const State& state() const { return state_; }
  const SimulationOptions& options() const { return options_; }
  const Flow& flow() const { return flow_; }
  const Target& target() const { return target_; }

  /// One step. On an error the state is that of the last finished step.
  /// Throws  NumericalError naming step, particle and coordinate when a score, velocity or position is not finite.
  void step();

  /// Everything the log shows of the current state; costs a few sums.
  Measurement measure() const;

  /// The state as the kernel sees it: x in units of the `scale` slot.
  State kernel_state() const;
  /// The same with x in the type that measurements are made in: fp64 on the CPU, the particles' own elsewhere.
  State measured_state() const;
  /// Points [N, D] in the coordinates of kernel_state.
  Tensor in_kernel_units(const Tensor& x) const;
  /// How sums for measurements are evaluated: τ as it is, reduction automatic, in that type.
  GaussSumOptions measuring() const;

  /// Calls `use` with target and kernel in kernel coordinates, for the current state.
  void with_context(const std::function<void(const FlowContext&)>& use) const;

  /// τ as the next step will use it (after a possible refresh), for messages before the first step.
  double tau() const;
  /// τ that `rule` gives a run from `start` [N, D] at its first step; empty where it has no answer.
  std::optional<double> tau_by(BandwidthRule rule, const Tensor& start) const;
  /// Size of the next step.
  double step_size() const { return step_size(state_); }
  /// How the flow's sum is evaluated at the current state, and why.
  Choice choice() const;

 private:
  class View;
  void refresh(State& state) const;
  void refresh_scale(State& state) const;
  void refresh_tau(State& state) const;
  void check_tau() const;
  /// What a bandwidth rule looks at, in kernel coordinates, fp64 on the CPU.
  Tensor rule_cloud(const State& state) const;
  std::optional<double> ruled(BandwidthRule rule, const Tensor& cloud, std::int64_t step) const;
  double step_size(const State& state) const;

  SimulationOptions options_;
  const Flow& flow_;
  const Target& target_;
  FlowTraits traits_;
  std::unique_ptr<Stepper> stepper_;
  std::function<void(const Note&)> tell_;
  State state_;
  mutable std::optional<std::pair<double, double>> target_form_;  ///< τ and bᵀK b of the targets, which do not move
};

}  // namespace gaussflow
