#include "gaussflow/flow/precision.hpp"

#include "gaussflow/core/error.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {

std::optional<Grid> coarsest_grid(const Moments& moments, at::ScalarType dtype) {
  const std::vector<double> mean = to_vector(moments.mean), sd = to_vector(moments.sd);
  const int digits = dtype == at::kDouble ? 52 : 23;
  std::optional<Grid> worst;
  for (std::size_t d = 0; d < mean.size(); ++d) {
    const double at = std::abs(mean[d]) + sd[d];
    if (!(sd[d] > 0 && std::isfinite(at))) continue;
    const Grid grid{static_cast<std::int64_t>(d), at, std::ldexp(1.0, std::ilogb(at) - digits), sd[d]};
    if (!worst || grid.share() > worst->share()) worst = grid;
  }
  return worst;
}

std::string grid_text(const Grid& grid, const std::string& name, at::ScalarType dtype) {
  return fmt::format("{} is {:.3g} with an sd of {:.3g}, where {} numbers are {:.3g} apart ({:.2g} % of the sd)", name,
                     grid.at, grid.sd, dtype_name(dtype), grid.spacing, 100 * grid.share());
}

void check_precision(const Target& target, const FlowTraits& traits, const Tensor& start, at::ScalarType dtype) {
  if (dtype == at::kDouble) return;
  const std::optional<Moments> moments = target.moments();
  if (!moments) {  // what is known of its place is where the start is; a coarse one may spread yet
    const std::optional<Grid> grid = coarsest_grid({start.mean(0), start.std(0, /*unbiased=*/false)}, dtype);
    if (grid && grid->share() > 1)
      throw InputError(fmt::format("the start's {}: its particles would fall together. Use particles.dtype: fp64",
                                   grid_text(*grid, fmt::format("x{}", grid->coordinate + 1), dtype)));
    return;
  }
  constexpr double coarse = 1.0 / 30;
  if (const std::optional<Grid> grid = coarsest_grid(*moments, dtype); grid && grid->share() > coarse)
    throw InputError(fmt::format("the target's {}: the particles would collapse onto that grid. Use particles.dtype: fp64",
                                 grid_text(*grid, fmt::format("x{}", grid->coordinate + 1), dtype)));
  if (!traits.needs_samples || target.standardize()) return;
  // τ is the inverse square of the scale, steps are 1/τ
  constexpr double largest = 1e18, smallest = 1e-18;
  for (const Tensor& sd : {moments->sd, start.std(0, /*unbiased=*/false)}) {
    const double scale = sd.norm().item<double>();
    if (scale > largest || (scale > 0 && scale < smallest))
      throw InputError(
          fmt::format("the scale {:.3g} of {} has a square beyond the range of {}: use particles.dtype: fp64, or "
                      "target.standardize: true",
                      scale, sd.is_same(moments->sd) ? "the target" : "the start", dtype_name(dtype)));
  }
}

}  // namespace gaussflow
