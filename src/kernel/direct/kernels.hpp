#pragma once
/// The SIMD kernels, dispatched at run time to the best instruction set of this machine.

#include "kernel/direct/layout.hpp"
#include "kernel/direct/profiles.hpp"

namespace gaussflow::direct {

/// Largest D and C of the small kernel.
inline constexpr int small_dim = 4;
inline constexpr int small_channels = 4;

/// Gaussian sums with D ≤ small_dim, C ≤ small_channels of points packed for an exponent of −‖q − k‖².
void small_sum(const Block<float>& block);
void small_sum(const Block<double>& block);

/// Sums of any profile, D and C.
void tiled_sum(const Block<float>& block, Profile profile);
void tiled_sum(const Block<double>& block, Profile profile);

/// The instruction set in use: "AVX3" is AVX-512.
const char* simd_target();

}  // namespace gaussflow::direct
