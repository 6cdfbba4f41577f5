#include "flow/judgement.hpp"

#include "gaussflow/kernel/bandwidth.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

constexpr double euler_limit = 1.383;  ///< no smaller multiple of 1/τ can raise the energy (docs/equations.md)

Tensor some_rows(const Simulation& simulation, const Tensor& x, std::int64_t limit) {
  if (x.size(0) <= limit) return x;
  std::uint64_t seed = 0;
  simulation.with_context([&](const FlowContext& context) { seed = context.seed; });
  const std::vector<std::int64_t> chosen = subsample({seed, Stream::subsample, 0}, x.size(0), limit);
  return x.index_select(0, at::tensor(chosen, at::kLong).to(x.device()));
}

/// Queries of a check that is to cost no more than a fraction of a second against `keys` points.
std::int64_t affordable(std::int64_t keys) { return std::clamp<std::int64_t>(100'000'000 / keys, 50, 1000); }

/// Distance to the nearest target of the farthest of (at most 500) particles.
double farthest(const Simulation& simulation) {
  const Tensor y = target_points(simulation);
  const Tensor x = some_rows(simulation, simulation.measured_state().x.to(at::kDouble),
                             std::min<std::int64_t>(500, affordable(y.size(0))));
  Tensor nearest = at::full({x.size(0)}, INFINITY, x.options());
  constexpr std::int64_t block = 16384;
  for (std::int64_t j = 0; j < y.size(0); j += block)
    nearest = at::minimum(nearest, std::get<0>(at::cdist(x, y.slice(0, j, j + block)).min(1)));
  return nearest.max().item<double>();
}

}  // namespace

std::string step_remark(const Simulation& simulation) {
  const std::optional<double> safe = simulation.flow().safe_step(simulation.tau());
  if (!safe || *simulation.options().step.method != Method::euler || simulation.step_size() <= euler_limit * *safe)
    return "";
  return fmt::format("step.size {:.4g} is over 1.383/tau = {:.4g}", simulation.step_size(), euler_limit * *safe);
}

Tensor target_points(const Simulation& simulation) {
  Tensor y;
  simulation.with_context([&](const FlowContext& context) { y = context.target.all_samples(at::kDouble).points; });
  return y;
}

double total_variance(const Tensor& x) { return x.to(at::kDouble).var(0, /*unbiased=*/false).sum().item<double>(); }

double blind_fraction(const Simulation& simulation) {
  Tensor x = simulation.measured_state().x;
  MmdForms forms;
  simulation.with_context([&](const FlowContext& context) {
    const Cloud y = context.target.all_samples(x.scalar_type());
    x = some_rows(simulation, x, affordable(y.points.size(0)));
    forms.bb = y.weights.square().sum().item<double>();
    forms.pull = gauss_sum(x, y.points, y.weights.unsqueeze(1), simulation.measuring()).squeeze(1);
  });
  return blind(forms).to(at::kDouble).mean().item<double>();
}

std::string reach_advice(const Simulation& simulation) {
  const double far = farthest(simulation);
  const Slots& slots = simulation.state().slots;
  const double base = slots.contains("anneal_base") ? slots.at("anneal_base").item<double>() : simulation.tau();
  // Φ = 1/e there; steps of 1/τ then bring them in while the kernel narrows
  return fmt::format(
      "Try particles.init: samples, which starts on the targets, or flow.anneal.from: {:.2g}, which starts with a kernel "
      "that reaches them and ends at this tau",
      2 / (far * far * base));
}

std::string median_advice(const Simulation& simulation, const Tensor& start) {
  const Slots& slots = simulation.state().slots;
  const bool annealed = slots.contains("anneal_base");
  if (!start.defined()) return annealed ? "" : ". Try kernel.bandwidth: median";
  const std::optional<double> better = simulation.tau_by(BandwidthRule::median, start);
  if (!better) return "";  // all points are equal: no rule has an answer
  if (annealed)
    return fmt::format(". Try flow.anneal.to: {:.2g} (tau = {:.3g})", *better / slots.at("anneal_base").item<double>(),
                       *better);
  return fmt::format(". Try kernel.bandwidth: median (tau = {:.3g} at the start)", *better);
}

std::string wide_remark(const Simulation& simulation, const Tensor& cloud, const Tensor& start) {
  const double tau = simulation.tau(), variance = total_variance(cloud);
  if (cloud.size(0) < 2 || !(variance > 0) || tau * variance >= too_wide) return "";
  return fmt::format(
             "tau = {:.3g} is so wide that the kernel sees no difference between the points (all entries are 1 to within "
             "{:.1g}): it compares means, not shapes",
             tau, tau * variance) +
         median_advice(simulation, start);
}

std::string narrow_remark(const Simulation& simulation, double touched, const Tensor& start) {
  return fmt::format("tau = {:.3g} is so narrow that a target feels {:.1g} others", simulation.tau(),
                     std::max(0.0, touched)) +
         median_advice(simulation, start);
}

double neighbours(const Simulation& simulation, const Tensor& x) {
  if (x.size(0) < 2) return 0;
  const Tensor mass = gauss_sum(some_rows(simulation, x, affordable(x.size(0))), x, at::ones({x.size(0), 1}, x.options()),
                                simulation.measuring());
  return mass.to(at::kDouble).median().item<double>() - 1;
}

Fit fit(const Simulation& simulation, const Tensor& x, const Tensor& start) {
  Fit result;
  simulation.with_context([&](const FlowContext& context) {
    const State seen = simulation.measured_state();
    const Tensor y = simulation.in_kernel_units(x);
    const Density density = context.target.density(y, context.draw(Stream::batch));
    const Tensor a = weights(seen).to(at::kDouble).unsqueeze(1), exact = y.to(at::kDouble),
                 score = density.score.to(at::kDouble);
    const Tensor spread = -(a * score * (exact - (a * exact).sum(0))).sum(0);
    result.log_prob = density.log_prob.to(at::kDouble).median().item<double>();
    result.spread = spread.mean().item<double>();
    result.score = std::sqrt(score.square().mean().item<double>());
    if (start.defined()) {
      const Tensor center = simulation.in_kernel_units(start).to(exact.options()).mean(0);
      result.outward = (a * score * (exact - center)).sum().item<double>();
    }
    result.flat = !score.any().item<bool>();
  });
  return result;
}

}  // namespace gaussflow
