#pragma once
/// The end of a run in words and numbers, and a character scatter of the first two coordinates.

#include "gaussflow/core/tensor.hpp"
#include "gaussflow/flow/simulation.hpp"
#include "gaussflow/flow/verdict.hpp"
#include "gaussflow/target/target.hpp"

#include "run/config.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow::run {

/// Weighted mean and sd of each column of x [N, D]; weights [N] sum to 1, undefined: equal. The sd divides by N (ddof 0).
Moments sample_moments(const Tensor& x, const Tensor& weights);

/// A table of mean and sd per coordinate, up to `limit` of them; beside them a reference where one is given, and then the line
/// "rms error in sd …, variance ratio …", without coordinates that are constant in the reference; they get a line of their own.
/// Where `columns` hold no four numbers, the reference stands below; two need 33.
std::string moments_table(const Moments& found, const std::optional<Moments>& reference,
                          const std::vector<std::string>& names, std::size_t columns, std::size_t limit = 40);

/// Particles of [N, D≥2] (a histogram for D = 1) as a block of characters with axis labels, 68 wide or as `columns` hold.
std::string scatter(const Tensor& x, const std::vector<std::string>& names, std::size_t columns);

/// What the particles do not tell of a run that has ended.
struct Ending {
  std::int64_t steps = 0;  ///< of this process
  double seconds = 0;
  std::string sums;  ///< how they were evaluated
  std::filesystem::path directory, samples;
  bool picture = false;  ///< with a scatter
  std::size_t columns = 80;
};

/// Moments beside the reference, the verdict, speed and memory, and what to do next.
std::string summary(const RunConfig& config, const Simulation& simulation, const Verdict& verdict, const Ending& ending);

}  // namespace gaussflow::run
