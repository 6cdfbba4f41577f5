#include "gaussflow/flow/verdict.hpp"

#include "gaussflow/core/machine_eps.hpp"
#include "gaussflow/flow/precision.hpp"

#include "flow/judgement.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {

namespace {

/// Does the energy fall when a copy, moved by 1e-3 kernel widths, follows its flow?
bool falls_when_perturbed(const Simulation& simulation) {
  bool falls = false;
  simulation.with_context([&](const FlowContext& context) {
    State trial = simulation.measured_state();
    const auto energy = [&] { return simulation.flow().energy(trial, context).value_or(0); };
    const double before = energy();
    const double sigma = 1 / std::sqrt(context.kernel.tau());
    const Draw draw{context.seed, Stream::perturbation, static_cast<std::uint64_t>(context.step)};
    trial.x = trial.x + 1e-3 * sigma * normal(draw, trial.x.size(0), trial.x.size(1)).to(trial.x.options());
    const double size = simulation.flow().safe_step(context.kernel.tau()).value_or(0);
    for (int k = 0; k < 100; ++k) trial.x = trial.x + size * simulation.flow().velocity(trial.x, trial, context);
    falls = energy() < before * (1 - 1e-6);
  });
  return falls;
}

std::string smaller_step(const Simulation& simulation) {
  const std::string remark = step_remark(simulation);
  if (!remark.empty()) return remark + ". Leave step.size out, it is 1/tau then";
  const std::optional<double> asked = simulation.options().step.size;
  const double usual = simulation.flow().traits().size;
  if (asked && usual > 0 && *asked > usual)
    return fmt::format("step.size is {:.4g}: leave it out, it is {:.4g} then", *asked, usual);
  return fmt::format("Try a step.size far below {:.3g}", asked.value_or(simulation.step_size()));
}

/// What a cloud that still moves asks for; a step.size far below the natural one would take that many more steps.
std::string more_steps(const Simulation& simulation, double natural) {
  const std::optional<double> asked = simulation.options().step.size;
  if (!asked || *asked > 0.1 * natural) return "more steps would help";
  return fmt::format("step.size {:.3g} is far below that, leave it out, or more steps would help", *asked);
}

/// Has the cloud gone where neither start nor targets were, or ended much worse than it began?
std::string diverged(const Simulation& simulation, const MmdForms& forms, const Tensor& x, const Tensor& y,
                     const Tensor& start) {
  const Tensor center = y.mean(0);
  const auto radii = [&](const Tensor& points) { return (points - center).norm(2, {1}); };
  const Tensor begun = simulation.in_kernel_units(start).to(at::kDouble);
  const double radius = std::max(radii(y).max().item<double>(), radii(begun).max().item<double>());
  const double limit = 3 * radius + 10 / std::sqrt(simulation.tau());
  if (const double gone = (radii(x) > limit).to(at::kDouble).mean().item<double>(); gone > 0.05)
    return fmt::format(
        "{:.0f} % of the particles flew more than {:.3g} from the targets' mean; start and targets lie within {:.3g}. {}",
        100 * gone, limit, radius, smaller_step(simulation));
  const State seen = simulation.measured_state();
  Tensor b;
  simulation.with_context([&](const FlowContext& context) { b = context.target.all_samples(at::kDouble).weights; });
  const double before = mmd_forms(begun, y, weights(seen).to(at::kDouble), b, simulation.measuring(), forms.yy).biased();
  if (const double now = forms.biased(); now > 10 * before && now > 0.1 * (forms.xx + forms.yy))
    return fmt::format("mmd2 rose from {:.3g} at the start to {:.3g}. {}", before, now, smaller_step(simulation));
  return "";
}

/// Did a cloud that was spread fall together onto neighbouring numbers of its type?
std::string on_grid(const Tensor& x, const Tensor& start) {
  const Tensor exact = x.to(at::kCPU, at::kDouble), sd = exact.std(0, /*unbiased=*/false);
  Tensor spread = sd.clamp_min(1e-300);  // no coordinate is left out but those that never had a spread
  if (start.defined()) spread = at::where(start.to(at::kCPU, at::kDouble).std(0, false) > 0, spread, 0.0);
  const std::optional<Grid> grid = coarsest_grid({exact.mean(0), spread}, x.scalar_type());
  if (!grid || grid->share() < 0.1 || !sd.any().item<bool>()) return "";
  return fmt::format(
      "x{} is {:.3g}, where {} numbers are {:.3g} apart, and the particles' sd there is {:.3g}. Use "
      "particles.dtype: fp64",
      grid->coordinate + 1, grid->at, dtype_name(x.scalar_type()), grid->spacing, sd[grid->coordinate].item<double>());
}

std::int64_t coordinates_without_spread(const Tensor& x) {
  return (std::get<0>(x.max(0)) == std::get<0>(x.min(0))).sum().item<std::int64_t>();
}

double rms_distance(const Tensor& x, const Tensor& start) {
  const Tensor offset = x.to(at::kCPU, at::kDouble) - start.to(at::kCPU, at::kDouble).mean(0);
  return std::sqrt(offset.square().sum(1).mean().item<double>());
}

/// Did log p fall, or does it have no maximum where the cloud went?
std::string flew(const Simulation& simulation, const Fit& now, const Tensor& start) {
  const Fit begun = fit(simulation, start, start);
  if (begun.log_prob - now.log_prob > 50 * static_cast<double>(start.size(1)))
    return fmt::format("the median of log p fell from {:.4g} at the start to {:.4g}. {}", begun.log_prob, now.log_prob,
                       smaller_step(simulation));
  // Towards a far mode the score falls; only where log p grows faster than linearly does it drive ever harder.
  const double radius = rms_distance(start, start), far = rms_distance(simulation.state().x, start);
  if (far > 1000 * (radius > 0 ? radius : 1.0) && now.outward > 0 && now.score > 10 * begun.score)
    return fmt::format(
        "the particles are {:.3g} from the start's mean, where they began within {:.3g}, and the score there still drives "
        "them outwards, {:.2g} times as hard: log p seems to have no maximum. Is its sign right?",
        far, radius, now.score / begun.score);
  return "";
}

/// What the table beside the verdict would hold against "converged": moments far from the reference's.
std::string contradiction(const Simulation& simulation) {
  const std::optional<Moments> reference = simulation.target().reference();
  if (!reference) return "";
  const State& state = simulation.state();
  const Tensor x = simulation.target().constrain(state.x.to(at::kCPU)).to(at::kDouble),
               a = weights(state).to(at::kCPU, at::kDouble).unsqueeze(1), sd = reference->sd.to(at::kDouble);
  const Tensor mean = (a * x).sum(0), variance = (a * (x - mean).square()).sum(0);
  const Tensor known = at::logical_and(at::isfinite(sd), sd > 0);
  const Tensor ratio = (variance / sd.square()).masked_select(known);
  const Tensor error = ((mean - reference->mean.to(at::kDouble)) / sd).masked_select(known);
  if (ratio.numel() == 0) return "";
  const double low = ratio.min().item<double>(), high = ratio.max().item<double>();
  if (low < 0.5 || high > 2)
    return low == high ? fmt::format("its variance is {:.2g} of the reference's", low)
                       : fmt::format("its variances are {:.2g} to {:.2g} of the reference's", low, high);
  if (const double rms = std::sqrt(error.square().mean().item<double>()); rms > 0.5)
    return fmt::format("its means are off by {:.2g} sd of the reference's", rms);
  return "";
}

}  // namespace

Verdict judge_samples(const Simulation& simulation, const Measurement& m, const Tensor& start) {
  const MmdForms& forms = *m.mmd;
  const double tau = simulation.tau(), mmd2 = forms.biased();
  const Tensor x = simulation.measured_state().x.to(at::kDouble), y = target_points(simulation);
  const std::string value = mmd2 > 0 ? fmt::format("mmd2 = {:.3g}", mmd2)
                                     : fmt::format("mmd2 < {:.1g} (below what its sums resolve)", forms.resolution());
  if (start.defined())
    if (const std::string text = diverged(simulation, forms, x, y, start); !text.empty()) return {"diverged", text};

  const double out = m.value("blind_fraction").value_or(0);
  const bool rest = !start.defined() || total_variance(simulation.state().x) < 1.01 * total_variance(start);
  const auto no_pull = [&] {
    return Verdict{
        "no pull",
        fmt::format("{:.0f} % of the particles feel less than a thousandth of one target at tau = {:.4g} and {}. {}",
                    100 * out, tau, rest ? "stay where they are" : "only drive one another apart",
                    reach_advice(simulation))};
  };
  const double touched = (forms.yy - forms.bb) / forms.bb;  // how many other targets a target feels
  const bool apart = !forms.single && touched < few_neighbours && mmd2 > 0.5 * (forms.aa + forms.bb);
  const auto no_interaction = [&] {
    return Verdict{"no interaction", fmt::format("{} is that of clouds that do not touch: {}", value,
                                                 narrow_remark(simulation, touched, start))};
  };
  if (out > 0.5) return apart ? no_interaction() : no_pull();
  if (const std::string wide = wide_remark(simulation, y, start); !wide.empty())
    return {"too wide", fmt::format("{}; {}", value, wide)};

  // In units of the kernel, or of the cloud where that is smaller: what a wide kernel calls small may be all there is to do.
  const double widths = std::sqrt(tau), sizes = 1 / std::sqrt(2 * total_variance(y));
  const double unit = std::isfinite(sizes) ? std::max(widths, sizes) : widths;
  // By the flow's natural step: a tiny step.size, or the end of a schedule, would make any cloud stand still.
  const std::optional<double> natural = simulation.flow().safe_step(tau);
  const double size = natural.value_or(m.value("step_size").value_or(0));
  const double step = m.value("rms_velocity").value_or(0) * size;
  const bool vanishes = m.value("dissipation").value_or(0) < 1e-10 * tau;
  const std::string left = fmt::format("{} {:.1e} kernel widths",
                                       natural ? fmt::format("a step of {:.3g}, the flow's own, moves particles by", size)
                                               : "the last step moved particles by",
                                       step * widths);
  if (!vanishes && step * unit >= 1e-3) {
    const std::string remark = step_remark(simulation);
    return {"moving", fmt::format("{}, {}: {}", value, left,
                                  remark.empty() ? more_steps(simulation, size) : remark + ", a smaller one would help")};
  }
  const double eps = machine_eps(simulation.state().x.scalar_type());
  if (vanishes && mmd2 > 64 * eps && falls_when_perturbed(simulation))
    return {"stalled",
            fmt::format("the velocity vanishes at {}, but a perturbed copy goes on falling: a symmetric configuration or a "
                        "saddle. Try flow.noise: 0.5, or a start that is spread more (particles.init.normal.std)",
                        value)};
  if (apart) return no_interaction();
  if (out > 0.01) return no_pull();
  if (vanishes) return {"converged", fmt::format("{}, the velocity vanishes", value)};
  return {"converged", fmt::format("{}, {}", value, left)};
}

Verdict judge_density(const Simulation& simulation, const Measurement& m, const Tensor& start) {
  const State& state = simulation.state();
  const std::int64_t n = state.x.size(0), d = state.x.size(1);
  // At the fixed point drive and repulsion cancel; φ is measured against the unit score of a whitened target.
  const double phi = m.value("rms_velocity").value_or(0) / std::sqrt(static_cast<double>(d));
  const std::string value =
      fmt::format("ksd2 = {:.3g}, rms of the Stein direction {:.1e} a coordinate", m.value("ksd2").value_or(0), phi);
  const Fit now = fit(simulation, state.x, start);
  if (start.defined())
    if (const std::string text = flew(simulation, now, start); !text.empty()) return {"diverged", text};

  const bool still = phi < 0.05;
  const Verdict moving{"moving", value + ": more steps would help"};
  if (n < 2) {
    if (!still) return moving;
    return {"one particle", value +
                                ": it climbed to a mode, or rests where the score vanishes, and shows no spread. Use more "
                                "particles (particles.count)"};
  }
  const std::int64_t merged = coordinates_without_spread(state.x);
  if (now.flat && merged < d) return still ? Verdict{"converged", value} : moving;

  const std::string spread = fmt::format("the cloud has {:.2g} of the spread that the score asks for", now.spread);
  const bool collapsed = now.spread < 0.3;
  const std::string remedy =
      simulation.options().kernel.fixed_tau() || *simulation.options().kernel.bandwidth != BandwidthRule::median
          ? "Try kernel.bandwidth: median"
          : fmt::format("Try more than {} in {} (particles.count)", counted(n, "particle"), counted(d, "dimension"));
  if (const double others = neighbours(simulation, simulation.measured_state().x); others < few_neighbours)
    return {"no interaction",
            fmt::format("at tau = {:.3g} a particle feels {:.1g} others: each climbs to a mode for itself{}. {}",
                        simulation.tau(), std::max(0.0, others), collapsed ? fmt::format(" ({})", spread) : "", remedy)};
  if (const std::string wide = wide_remark(simulation, simulation.measured_state().x, start); !wide.empty())
    return {"too wide", fmt::format("{}; {}", value, wide)};
  if (const std::string text = on_grid(state.x, start); !text.empty())
    return {"collapsed", fmt::format("{}; {}", value, text)};
  // By symmetry they feel the same for ever: at a mode, a saddle or the centre of a ring φ is 0 all the same.
  if (merged > 0) {
    const bool began = start.defined() && coordinates_without_spread(start) < merged;
    return {"collapsed",
            fmt::format("{}; all {} particles agree in {} of {} coordinates and nothing parts them. {}", value, n, merged, d,
                        began ? "Use particles.dtype: fp64, or start anew from particles that are spread"
                              : "Use a start that is spread, as particles.init: {normal: {std: 1}}")};
  }
  if (still && collapsed) return {"collapsed", fmt::format("{}; {}. {}", value, spread, remedy)};
  if (!still) return moving;
  if (now.spread > 3) return {"moving", fmt::format("{}, but {}: more steps would help", value, spread)};
  if (const std::string text = contradiction(simulation); !text.empty()) {
    if (phi >= 0.01) return {"moving", fmt::format("{}, but {}: more steps would help, or more particles", value, text)};
    return {"biased",
            fmt::format("{}: the cloud rests, but {}. Try more particles (particles.count), a start that is spread "
                        "more, or other coordinates for the density (reparametrise)",
                        value, text)};
  }
  return {"converged", value};
}

Verdict judge(const Simulation& simulation, const Tensor& start) {
  const Measurement m = simulation.measure();
  return simulation.target().has_samples() && simulation.flow().traits().needs_samples ? judge_samples(simulation, m, start)
                                                                                       : judge_density(simulation, m, start);
}

}  // namespace gaussflow
