#pragma once
/// Do the particles' numbers hold the target?

#include "gaussflow/flow/flow.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gaussflow {

/// Numbers of a type near a cloud, in the coordinate where they are coarsest for its spread.
struct Grid {
  std::int64_t coordinate = 0;
  double at = 0;       ///< largest magnitude of the cloud there
  double spacing = 0;  ///< between neighbouring numbers of the type at that magnitude
  double sd = 0;       ///< of the cloud, > 0
  double share() const { return spacing / sd; }
};

/// Of a cloud with these moments; coordinates without spread are left out, empty if there is no other.
std::optional<Grid> coarsest_grid(const Moments& moments, at::ScalarType dtype);

/// "x1 is 1e+06 with an sd of 1.02, where fp32 numbers are 0.0625 apart (6 % of the sd)".
std::string grid_text(const Grid& grid, const std::string& name, at::ScalarType dtype);

/// Refuses a start that the type spoils: a target whose sd is not thirty grid steps (where that is not known, a start whose sd
/// is not one), or a scale whose square leaves fp32.
///
/// Throws  InputError that names the coordinate, the numbers and particles.dtype: fp64.
void check_precision(const Target& target, const FlowTraits& traits, const Tensor& start, at::ScalarType dtype);

}  // namespace gaussflow
