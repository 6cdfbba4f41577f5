#pragma once
/// What verdicts at the end and warnings at the start have in common.

#include "gaussflow/flow/simulation.hpp"
#include "gaussflow/flow/verdict.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gaussflow {

/// Below this, 1 − Φ of a typical pair: a kernel that calls all points the same compares means and no shapes.
constexpr double too_wide = 1e-3;

/// With fewer others than this in reach a point is alone: the kernel sees single points and no cloud.
constexpr double few_neighbours = 0.2;

/// Does the run's `step.size` exceed what is sure to lower the energy? As words for a message, empty if not.
std::string step_remark(const Simulation& simulation);

/// The target's samples in kernel coordinates, fp64 on the CPU.
Tensor target_points(const Simulation& simulation);

/// Σ_d var_d of a cloud: half the mean squared distance of two of its points.
double total_variance(const Tensor& x);

/// Share of (at most 1000) particles that are out of the targets' reach, see `blind`.
double blind_fraction(const Simulation& simulation);

/// What brings particles that are out of reach to the targets: keys with values.
std::string reach_advice(const Simulation& simulation);

/// ". Try kernel.bandwidth: median (tau = …)": the τ is the one that the advised run has at its `start`, which is not what the
/// cloud at the end would give; without a start no number.
std::string median_advice(const Simulation& simulation, const Tensor& start);

/// "tau = 1e-08 is so wide that …" with that advice, empty where the kernel tells the points of `cloud` apart.
std::string wide_remark(const Simulation& simulation, const Tensor& cloud, const Tensor& start);

/// "tau = 2000 is so narrow that …" with that advice.
std::string narrow_remark(const Simulation& simulation, double touched, const Tensor& start);

/// How many others a point feels: the median over (at most 1000) points of Σ_{j≠i} Φ(x_i, x_j).
double neighbours(const Simulation& simulation, const Tensor& x);

/// What the score says of a cloud without any kernel.
struct Fit {
  double log_prob = 0;  ///< median over the particles, up to the target's constant
  double spread = 0;  ///< mean over coordinates of −E[s (x − mean)]: 1 under the density, a variance ratio for a normal one
  double score = 0;    ///< rms of the score
  double outward = 0;  ///< E[s (x − mean of the start)], where the start is known: positive drives away from it
  bool flat = false;   ///< no score anywhere
};
Fit fit(const Simulation& simulation, const Tensor& x, const Tensor& start);

Verdict judge_samples(const Simulation& simulation, const Measurement& m, const Tensor& start);
Verdict judge_density(const Simulation& simulation, const Measurement& m, const Tensor& start);

}  // namespace gaussflow
