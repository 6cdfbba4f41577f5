#include "gaussflow/flow/verdict.hpp"

#include "gaussflow/core/text.hpp"
#include "gaussflow/kernel/bandwidth.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {

namespace {

/// A τ at which the particles feel the targets again: Φ ≥ 1e-3 at the typical distance to the nearest target, and no
/// narrower than the pooled median.
double suggested_tau(const Simulation& simulation) {
  Tensor x = simulation.kernel_state().x, y;
  std::uint64_t seed = 0;
  simulation.with_context([&](const FlowContext& context) {
    y = context.target.all_samples(at::kDouble).points;
    seed = context.seed;
  });
  const Draw draw{seed, Stream::subsample, 0};
  const auto pick = [&](const Tensor& t) {
    return t.to(at::kDouble).index_select(0, at::tensor(subsample(draw, t.size(0), 500), at::kLong));
  };
  const Tensor xs = pick(x), ys = pick(y);
  const double nearest = std::get<0>(at::cdist(xs, ys).min(1)).median().item<double>();
  const double pooled = median_squared_distance(at::cat({xs, ys}));
  return std::min(1 / pooled, 13.8 / (nearest * nearest));
}

/// Does the energy fall below `energy` when a copy, moved by 1e-3 kernel widths, follows its flow?
bool falls_when_perturbed(const Simulation& simulation, double energy) {
  bool falls = false;
  simulation.with_context([&](const FlowContext& context) {
    State trial = simulation.kernel_state();
    const double sigma = 1 / std::sqrt(context.kernel.tau());
    const Draw draw{context.seed, Stream::perturbation, static_cast<std::uint64_t>(context.step)};
    trial.x = trial.x + 1e-3 * sigma * normal(draw, trial.x.size(0), trial.x.size(1)).to(trial.x.options());
    const double size = simulation.flow().safe_step(context.kernel.tau()).value_or(0);
    for (int k = 0; k < 100; ++k) trial.x = trial.x + size * simulation.flow().velocity(trial.x, trial, context);
    falls = simulation.flow().energy(trial, context).value_or(energy) < energy * (1 - 1e-6);
  });
  return falls;
}

Verdict judge_samples(const Simulation& simulation, const Measurement& m) {
  const double blind = m.value("blind_fraction").value_or(0);
  const double tau = simulation.tau();
  if (blind > 0.5) {
    return {
        "no pull",
        fmt::format("{:.0f} % of the particles are too far from the targets to feel them at tau = {:.4g}: they did not move "
                    "for that reason. Try kernel.tau = {:.3g}, or kernel.bandwidth: median",
                    100 * blind, tau, suggested_tau(simulation))};
  }
  const double mmd2 = m.value("mmd2").value_or(0);
  const double dissipation = m.value("dissipation").value_or(0);
  if (dissipation < 1e-10 * tau) {
    const double eps = simulation.state().x.scalar_type() == at::kDouble ? 2.2e-16 : 1.2e-7;
    if (mmd2 > 64 * eps && falls_when_perturbed(simulation, mmd2 / 2))
      return {"stalled",
              fmt::format("the velocity vanishes at mmd2 = {:.3g}, but a perturbed copy goes on falling: a symmetric "
                          "configuration or a saddle. Try flow.noise: 0.5, or a start that is spread more",
                          mmd2)};
    return {"converged", fmt::format("mmd2 = {:.3g}, the velocity vanishes", mmd2)};
  }
  const double move = m.value("rms_velocity").value_or(0) * m.value("step_size").value_or(0) * std::sqrt(tau);
  if (move < 1e-3)
    return {"converged", fmt::format("mmd2 = {:.3g}, the last step moved particles by {:.1e} kernel widths", mmd2, move)};
  return {"moving",
          fmt::format("mmd2 = {:.3g}, the last step still moved particles by {:.1e} kernel widths: more steps would help",
                      mmd2, move)};
}

Verdict judge_density(const Measurement& m, std::int64_t dim) {
  // At the fixed point drive and repulsion cancel; φ is measured against the unit score of a whitened target.
  const double phi = m.value("rms_velocity").value_or(0) / std::sqrt(static_cast<double>(dim));
  const double ksd2 = m.value("ksd2").value_or(0);
  if (phi < 0.05)
    return {"converged", fmt::format("ksd2 = {:.3g}, rms of the Stein direction {:.1e} a coordinate", ksd2, phi)};
  return {"moving",
          fmt::format("ksd2 = {:.3g}, rms of the Stein direction {:.1e} a coordinate: more steps would help", ksd2, phi)};
}

/// κ n/(2 D (e^{κ/2} − 1)) with κ = τ med²: the mean variance that SVGD leaves of a unit variance for n ≤ D+1 particles, and
/// what it tends to in high dimension (derivation in docs/equations.md).
double collapse_law(double kappa, double n, double d) { return kappa * n / (2 * d * std::expm1(kappa / 2)); }

}  // namespace

Verdict judge(const Simulation& simulation) {
  const Measurement m = simulation.measure();
  return simulation.target().has_samples() && simulation.flow().traits().needs_samples
             ? judge_samples(simulation, m)
             : judge_density(m, simulation.target().dim());
}

std::vector<Note> inspect_start(const Simulation& simulation) {
  std::vector<Note> notes;
  const State& state = simulation.state();
  const Tensor x = state.x.to(at::kCPU, at::kDouble);
  const std::int64_t n = x.size(0), d = x.size(1);

  const std::int64_t distinct = x.numel() > 2'000'000 ? n : std::get<0>(at::unique_dim(x, 0)).size(0);  // a sort
  if (distinct < n)
    notes.push_back({true, fmt::format("{} of {} particles start at the place of another one and will stay there for ever",
                                       n - distinct, n)});
  if (n == 1 && simulation.flow().traits().needs_density)
    notes.push_back({true, "one particle: SVGD is then plain gradient ascent to the mode"});

  const double tau = simulation.tau();
  if (const std::optional<double> safe = simulation.flow().safe_step(tau);
      safe && *simulation.options().step.method == Method::euler && simulation.step_size() > 1.383 * *safe)
    notes.push_back({true, fmt::format("step.size {:.4g} is over 1.383/tau = {:.4g}: the energy may rise",
                                       simulation.step_size(), 1.383 * *safe)});

  if (simulation.flow().traits().needs_samples) {
    const Measurement m = simulation.measure();
    if (const double blind = m.value("blind_fraction").value_or(0); blind > 0.01) {
      notes.push_back(
          {true, fmt::format("no pull: {:.0f} % of the particles are too far from the targets to feel them at tau = {:.4g}; "
                             "try kernel.tau = {:.3g}",
                             100 * blind, tau, suggested_tau(simulation))});
    }
    const Tensor sd = simulation.target().all_samples(at::kDouble).points.std(0, false);
    if (const double ratio = (sd.max() / sd.min()).item<double>();
        d > 1 && ratio > 100 && !simulation.target().standardize())
      notes.push_back(
          {true,
           fmt::format(
               "the target's coordinates differ in scale by {:.2g}: target.standardize: true measures each in its own sd",
               ratio)});
  } else if (n >= 2 && d >= 5) {
    const double kappa = tau * median_squared_distance(simulation.kernel_state().x.to(at::kDouble).slice(0, 0, 1500));
    const double left = collapse_law(kappa, static_cast<double>(n), static_cast<double>(d));
    if (kappa > 4 || n <= 2 * d) {
      if (left < 0.8)
        notes.push_back({true, fmt::format("variance collapse expected: {} particles in {} dimensions at tau·median² = "
                                           "{:.2g} keep about {:.2g} of the "
                                           "variance; use kernel.bandwidth: median or more particles",
                                           n, d, kappa, left)});
    }
  }
  return notes;
}

}  // namespace gaussflow
