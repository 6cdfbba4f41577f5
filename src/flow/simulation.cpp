#include "gaussflow/flow/simulation.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/kernel/mmd.hpp"
#include "gaussflow/target/whitened.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

/// The target as flows meet it: on the particles' device, and a score that is not finite, or a log p that is NaN or +inf,
/// stops the run where it arises. A log p of -inf is none: the particle is outside the support.
class CheckedTarget : public Target {
 public:
  CheckedTarget(const Target& target, std::int64_t step, c10::Device device)
      : target_(target), step_(step), device_(device) {}

  std::int64_t dim() const override { return target_.dim(); }
  bool has_density() const override { return target_.has_density(); }
  bool has_samples() const override { return target_.has_samples(); }
  Cloud samples(const Draw& draw, at::ScalarType dtype) const override { return here(target_.samples(draw, dtype)); }
  Cloud all_samples(at::ScalarType dtype) const override { return here(target_.all_samples(dtype)); }
  std::optional<Moments> moments() const override { return target_.moments(); }
  TargetRecord record() const override { return target_.record(); }

  Density density(const Tensor& x, const Draw& draw) const override {
    Density density = target_.density(x, draw);
    if (const NonFinite bad = find_non_finite(density.score); bad.count > 0)
      throw NumericalError(fmt::format("step {}: the score of particle {} is {} in coordinate {} ({} not finite in all)",
                                       step_ + 1, bad.row, density.score[bad.row][bad.column].item<double>(), bad.column,
                                       bad.count));
    // A formula outside its domain may have a finite derivative all the same: log(x) is NaN for x < 0, 1/x is not.
    const Tensor wrong = density.log_prob.isnan().logical_or(density.log_prob.isposinf());
    if (const auto count = wrong.sum().item<std::int64_t>(); count > 0) {
      const auto first = wrong.to(at::kByte).argmax().item<std::int64_t>();
      throw NumericalError(fmt::format("step {}: log p of particle {} is {} ({} such in all)", step_ + 1, first,
                                       density.log_prob[first].isnan().item<bool>() ? "nan" : "inf", count));
    }
    return density;
  }

 private:
  /// Samples live in main memory; the particles may not.
  Cloud here(const Cloud& cloud) const { return {cloud.points.to(device_), cloud.weights.to(device_)}; }

  const Target& target_;
  std::int64_t step_;
  c10::Device device_;
};

double scalar(const Tensor& t) { return t.item<double>(); }

/// Running standard deviation per coordinate [D] fp64; 1 where the particles agree.
Tensor spread(const Tensor& x) {
  const Tensor sd = x.to(at::kDouble).std(0, /*unbiased=*/false);
  return at::where(sd > 0, sd, at::ones_like(sd));
}

}  // namespace

std::optional<double> Measurement::value(const std::string& name) const {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return std::nullopt;
}

/// What a flow is shown of `state`.
class Simulation::View {
 public:
  View(const Simulation& simulation, const State& state)
      : scale_(state.slots.contains("scale") ? state.slots.at("scale") : Tensor()),
        whitened_(scale_.defined() ? std::make_unique<WhitenedTarget>(simulation.target_, scale_) : nullptr),
        checked_(whitened_ ? static_cast<const Target&>(*whitened_) : simulation.target_, state.step, state.x.device()),
        kernel_(options(simulation, state)),
        context_{checked_, kernel_, simulation.options_.seed, state.step, *simulation.options_.step.horizon} {}
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const FlowContext& context() const { return context_; }

  Tensor to_kernel(const Tensor& x) const { return scale_.defined() ? x / scale_.to(x.options()) : x; }
  Tensor from_kernel(const Tensor& dy) const { return scale_.defined() ? dy * scale_.to(dy.options()) : dy; }

 private:
  static GaussSumOptions options(const Simulation& simulation, const State& state) {
    GaussSumOptions options = simulation.options_.compute.gauss_sum();
    options.tau = scalar(state.slots.at("tau"));
    return options;
  }

  Tensor scale_;
  std::unique_ptr<WhitenedTarget> whitened_;
  CheckedTarget checked_;
  Kernel kernel_;
  FlowContext context_;
};

Simulation::Simulation(SimulationOptions options, const Flow& flow, const Target& target, State state,
                       std::function<void(const Note&)> tell)
    : options_(std::move(options)),
      flow_(flow),
      target_(target),
      traits_(flow.traits()),
      tell_(std::move(tell)),
      state_(std::move(state)) {
  if (traits_.needs_samples && !target_.has_samples())
    throw ConfigError(
        "this flow moves particles onto samples, but the target is a density: use flow: svgd, or target: {samples: FILE}");
  if (traits_.needs_density && !target_.has_density())
    throw ConfigError("this flow needs a density with a score, but the target is a cloud of samples: use flow: mmd");
  if (state_.x.dim() != 2 || state_.x.size(1) != target_.dim())
    throw InputError(
        fmt::format("the particles have shape {} but the target has dimension {}", shape_text(state_.x), target_.dim()));
  resolve(options_, traits_);
  stepper_ = make_stepper(*options_.step.method, options_.step);
  if (state_.step == 0) {
    refresh_scale(state_);
    refresh_tau(state_);
    check_tau();
  }
}

/// Velocities and steps are made of τ and 1/τ, in the particles' type.
void Simulation::check_tau() const {
  constexpr double smallest = 1e-36, largest = 1e36;
  if (state_.x.scalar_type() == at::kDouble || (tau() >= smallest && tau() <= largest)) return;
  throw ConfigError(fmt::format(
      "tau = {:.3g} is beyond what fp32 particles can be moved by ([{:g}, {:g}]): use particles.dtype: fp64, another "
      "kernel.tau, or other units",
      tau(), smallest, largest));
}

void Simulation::resolve(SimulationOptions& options, const FlowTraits& traits) {
  StepOptions& step = options.step;
  if (!step.method) step.method = traits.method;
  if (!step.schedule) step.schedule = *step.method == traits.method ? traits.schedule : Schedule::constant;
  if (!step.horizon) step.horizon = std::max<std::int64_t>(1, step.count);
  if (!options.kernel.bandwidth && !options.kernel.fixed_tau()) options.kernel.bandwidth = BandwidthRule::median;
  if (!options.kernel.refresh) options.kernel.refresh = traits.pooled_bandwidth ? 0 : 10;
}

void Simulation::refresh_scale(State& state) const {
  if (traits_.whiten) {
    state.slots["scale"] = spread(state.x);
  } else if (target_.standardize() && !state.slots.contains("scale")) {
    const std::optional<Moments> moments = target_.moments();
    if (moments) state.slots["scale"] = at::where(moments->sd > 0, moments->sd, at::ones_like(moments->sd));
  }
}

Tensor Simulation::rule_cloud(const State& state) const {
  Tensor cloud = state.x.to(at::kCPU, at::kDouble);
  if (traits_.pooled_bandwidth) cloud = at::cat({cloud, target_.all_samples(at::kDouble).points.to(at::kCPU)});
  return state.slots.contains("scale") ? cloud / state.slots.at("scale") : cloud;
}

std::optional<double> Simulation::ruled(BandwidthRule rule, const Tensor& cloud, std::int64_t step) const {
  const Draw draw{options_.seed, Stream::subsample, static_cast<std::uint64_t>(step)};
  return bandwidth_tau(rule, cloud, draw, options_.kernel.subsample);
}

std::optional<double> Simulation::tau_by(BandwidthRule rule, const Tensor& start) const {
  State first;
  first.x = start;
  refresh_scale(first);
  return ruled(rule, rule_cloud(first), 0);
}

void Simulation::refresh_tau(State& state) const {
  Tensor& tau = state.slots["tau"];
  if (const std::optional<double> fixed = options_.kernel.fixed_tau()) {
    tau = at::scalar_tensor(*fixed, at::kDouble);
    return;
  }
  const Tensor cloud = rule_cloud(state);
  std::optional<double> chosen = ruled(*options_.kernel.bandwidth, cloud, state.step);
  if (!chosen) {
    if (state.step == 0)
      tell_({true, fmt::format("the rule {} has no answer for {}: tau = 1 until it has",
                               config::name_of(*options_.kernel.bandwidth),
                               cloud.size(0) < 2 ? "a single particle" : "particles that are all equal")});
    chosen = tau.defined() ? scalar(tau) : 1.0;
  }
  // A sudden jump of the kernel would throw particles about; a factor of 2 at each refresh follows any real change.
  if (tau.defined()) chosen = std::clamp(*chosen, scalar(tau) / 2, scalar(tau) * 2);
  tau = at::scalar_tensor(*chosen, at::kDouble);
}

void Simulation::refresh(State& state) const {
  const std::int64_t every = *options_.kernel.refresh;
  if (state.step > 0 && every > 0 && state.step % every == 0) {
    refresh_scale(state);
    refresh_tau(state);
  }
  const View view(*this, state);
  State seen = state;
  seen.x = view.to_kernel(state.x);
  flow_.refresh(seen, view.context());
  state.slots = std::move(seen.slots);
}

double Simulation::step_size(const State& state) const {
  const StepOptions& step = options_.step;
  double size = 0;
  if (step.size) {
    size = *step.size;
  } else if (traits_.size > 0) {
    size = traits_.size;
  } else if (const std::optional<double> safe = flow_.safe_step(scalar(state.slots.at("tau")))) {
    size = *step.method == Method::momentum ? (1 - step.mu) * *safe : *safe;
  } else {
    throw ConfigError("this flow has no default step size: set step.size");
  }
  return size * schedule_factor(*step.schedule, state.step, *step.horizon);
}

void Simulation::step() {
  State next = state_;
  refresh(next);
  const View view(*this, next);
  const double size = step_size(next);

  const StepField field{[&](const Tensor& y) {
                          State keys = next;
                          keys.x = y;
                          return flow_.velocity(y, keys, view.context());
                        },
                        [&](const Tensor& y) {
                          State keys = next;
                          keys.x = y;
                          return flow_.energy(keys, view.context());
                        }};
  Tensor dy;
  try {
    dy = stepper_->displacement(view.to_kernel(next.x), field, size, next.slots);
  } catch (const InputError& error) {  // operands of a sum that overflowed on the way
    throw NumericalError(fmt::format("step {}: {}", state_.step + 1, error.what()));
  }
  next.x = next.x + view.from_kernel(dy).to(next.x.options());
  if (const NonFinite bad = find_non_finite(next.x); bad.count > 0)
    throw NumericalError(fmt::format("step {}: the position of particle {} is {} in coordinate {} ({} not finite in all)",
                                     state_.step + 1, bad.row, next.x[bad.row][bad.column].item<double>(), bad.column,
                                     bad.count));
  next.step += 1;
  next.time += size;
  state_ = std::move(next);
}

State Simulation::kernel_state() const {
  State seen = state_;
  seen.x = View(*this, state_).to_kernel(state_.x);
  return seen;
}

void Simulation::with_context(const std::function<void(const FlowContext&)>& use) const {
  use(View(*this, state_).context());
}

double Simulation::tau() const { return scalar(state_.slots.at("tau")); }

Choice Simulation::choice() const {
  const State seen = kernel_state();
  const View view(*this, state_);
  Tensor keys = seen.x;
  if (traits_.needs_samples)
    keys = at::cat({keys, view.context().target.samples(view.context().draw(Stream::batch), keys.scalar_type()).points});
  const Tensor values = at::ones({keys.size(0), keys.size(1) + 1}, keys.options());
  return choose(seen.x, keys, values, view.context().kernel.options());
}

State Simulation::measured_state() const {
  State seen = state_;
  const Tensor x = state_.x.is_cpu() ? state_.x.to(at::kDouble) : state_.x;
  seen.x = View(*this, state_).to_kernel(x);
  return seen;
}

Tensor Simulation::in_kernel_units(const Tensor& x) const { return View(*this, state_).to_kernel(x); }

GaussSumOptions Simulation::measuring() const {
  return {.tau = tau(), .compute_dtype = state_.x.is_cpu() ? at::kDouble : state_.x.scalar_type()};
}

Measurement Simulation::measure() const {
  const View view(*this, state_);
  const State seen = kernel_state();
  const FlowContext& context = view.context();
  const Kernel& kernel = context.kernel;
  const Tensor velocity = flow_.velocity(seen.x, seen, context);
  const Tensor squares = velocity.to(at::kDouble).square().sum(1);

  Measurement m{state_.step, state_.time, {}, {}};
  const auto add = [&](const std::string& name, std::optional<double> value) { m.values.emplace_back(name, value); };
  if (context.target.has_samples()) {
    // Near convergence the forms cancel: in fp32 a value below 1e-6 would be rounding.
    const State exact = measured_state();
    const Cloud y = context.target.all_samples(exact.x.scalar_type());
    const bool known = target_form_ && target_form_->first == kernel.tau() && !traits_.whiten;
    m.mmd = mmd_forms(exact.x, y.points, weights(exact), y.weights, measuring(),
                      known ? std::optional(target_form_->second) : std::nullopt);
    target_form_ = {kernel.tau(), m.mmd->yy};
    add("mmd2", m.mmd->biased());
    add("mmd2_unbiased", m.mmd->unbiased());
    add("blind_fraction", blind(*m.mmd).to(at::kDouble).mean().item<double>());
  } else {
    add("ksd2", ksd_squared(seen.x, context.target.density(seen.x, context.draw(Stream::batch)).score, weights(seen),
                            kernel.options()));
  }
  add("dissipation", (weights(seen).to(at::kDouble) * squares).sum().item<double>());
  add("rms_velocity", std::sqrt(squares.mean().item<double>()));
  add("tau", kernel.tau());
  add("step_size", step_size(state_));
  return m;
}

Tensor blind(const MmdForms& forms) { return forms.pull < 1e-3 * forms.bb; }

}  // namespace gaussflow
