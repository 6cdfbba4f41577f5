#include "gaussflow/flow/precision.hpp"
#include "gaussflow/flow/verdict.hpp"
#include "gaussflow/kernel/bandwidth.hpp"

#include "flow/judgement.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

/// κ n/(2 D (e^{κ/2} − 1)) with κ = τ med²: the mean variance that SVGD leaves of a unit variance for n ≤ D+1 particles, and
/// what it tends to in high dimension (derivation in docs/equations.md).
double collapse_law(double kappa, double n, double d) { return kappa * n / (2 * d * std::expm1(kappa / 2)); }

/// Numbers of the particles' type that are coarse where the target, or the start, is.
void inspect_precision(const Simulation& simulation, std::vector<Note>& notes) {
  const Tensor& x = simulation.state().x;
  if (x.scalar_type() == at::kDouble) return;
  constexpr double coarse = 1e-3;
  const Tensor exact = x.to(at::kCPU, at::kDouble);
  const std::optional<Moments> known = simulation.target().moments();
  const Moments moments = known ? *known : Moments{exact.mean(0), exact.std(0, /*unbiased=*/false)};
  if (const std::optional<Grid> grid = coarsest_grid(moments, x.scalar_type()); grid && grid->share() > coarse)
    notes.push_back({true, fmt::format("the {}'s {}: particles.dtype: fp64 is finer", known ? "target" : "start",
                                       grid_text(*grid, fmt::format("x{}", grid->coordinate + 1), x.scalar_type()))});
}

void inspect_samples(const Simulation& simulation, std::vector<Note>& notes) {
  const Tensor y = target_points(simulation);
  if (simulation.state().x.size(0) == 1 && y.size(0) > 1)
    notes.push_back({true, "one particle: the MMD flow then takes it to one place, where the targets are dense"});
  constexpr std::int64_t cloud = 10;  // a few targets may well be apart
  const double touched = y.size(0) < cloud ? INFINITY : neighbours(simulation, y);
  if (touched < few_neighbours)
    notes.push_back({true, narrow_remark(simulation, touched, simulation.state().x)});
  else if (const double out = blind_fraction(simulation); out > 0.01)
    notes.push_back(
        {true, fmt::format("no pull: {:.0f} % of the particles feel less than a thousandth of one target at tau = "
                           "{:.4g}. {}",
                           100 * out, simulation.tau(), reach_advice(simulation))});
  if (const std::string wide = wide_remark(simulation, y, simulation.state().x); !wide.empty())
    notes.push_back({true, wide});
  const std::optional<Moments> moments = simulation.target().moments();
  if (!moments || simulation.target().standardize()) return;
  const Tensor sd = moments->sd.masked_select(moments->sd > 0);  // a constant column has no scale
  if (sd.numel() < 2) return;
  if (const double ratio = (sd.max() / sd.min()).item<double>(); ratio > 100)
    notes.push_back(
        {true,
         fmt::format(
             "the target's coordinates differ in scale by {:.2g}: target.standardize: true measures each in its own sd",
             ratio)});
}

void inspect_density(const Simulation& simulation, std::vector<Note>& notes) {
  const std::int64_t n = simulation.state().x.size(0), d = simulation.state().x.size(1);
  if (n == 1) notes.push_back({true, "one particle: SVGD is then plain gradient ascent to the mode"});
  if (n < 2) return;
  const double tau = simulation.tau();
  const Tensor x = simulation.measured_state().x;
  if (const double others = neighbours(simulation, x); others < few_neighbours)
    notes.push_back(
        {true, fmt::format("no interaction: at tau = {:.3g} a particle feels {:.1g} others and climbs to a mode for "
                           "itself; try kernel.bandwidth: median",
                           tau, std::max(0.0, others))});
  if (const std::string wide = wide_remark(simulation, x, simulation.state().x); !wide.empty())
    notes.push_back({true, wide});
  if (d < 5) return;
  const double kappa = tau * median_squared_distance(x.to(at::kDouble).slice(0, 0, 1500));
  const double left = collapse_law(kappa, static_cast<double>(n), static_cast<double>(d));
  if ((kappa > 4 || n <= 2 * d) && left < 0.8)
    notes.push_back({true, fmt::format("variance collapse expected: {} in {} at tau·median² = "
                                       "{:.2g} keep about {:.2g} of the "
                                       "variance; use kernel.bandwidth: median or more particles",
                                       counted(n, "particle"), counted(d, "dimension"), kappa, left)});
}

}  // namespace

std::vector<Note> inspect_start(const Simulation& simulation) {
  std::vector<Note> notes;
  const Tensor x = simulation.state().x.to(at::kCPU, at::kDouble);
  const std::int64_t n = x.size(0);
  const std::int64_t distinct = x.numel() > 200'000 ? n : std::get<0>(at::unique_dim(x, 0)).size(0);  // a sort
  if (distinct < n)
    notes.push_back({true, fmt::format("{} of {} particles start at the place of another one and will stay there for ever",
                                       n - distinct, n)});
  if (const std::string remark = step_remark(simulation); !remark.empty())
    notes.push_back({true, remark + ": the energy may rise"});
  inspect_precision(simulation, notes);
  if (simulation.flow().traits().needs_samples)
    inspect_samples(simulation, notes);
  else if (simulation.flow().traits().needs_density)
    inspect_density(simulation, notes);
  return notes;
}

}  // namespace gaussflow
