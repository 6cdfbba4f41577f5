#pragma once
/// The SIMD kernels, dispatched at run time to the best instruction set of this machine.

#include "kernel/direct/direct.hpp"
#include "kernel/direct/layout.hpp"

namespace gaussflow::direct {

/// Largest D and C of the small kernels.
inline constexpr int small_dim = 4;
inline constexpr int small_channels = 4;

/// Sums in one pass through registers, of other profiles than the Gaussian for C = 1; outputs by kind:
///   sum    C ≤ small_channels: Σ Φ v
///   field  C = 1: Σ Φ w (k − q) in packed units, then Σ Φ w; D + 1 in all
///   stein  C = D + 1, values (u, b): Σ Φ (u − b (k − q))
void small_sum(const Block<float>& block, Kind kind, Profile profile);
void small_sum(const Block<double>& block, Kind kind, Profile profile);

/// Sums of any profile, D and C.
void tiled_sum(const Block<float>& block, Profile profile);
void tiled_sum(const Block<double>& block, Profile profile);

/// Gaussian sums of any D and C with exponents in twice the precision.
void compensated_sum(const Block<double>& block);

/// Both halves of a symmetric sum, C ≤ small_channels.
void small_symmetric(const SymmetricBlock<float>& block, Profile profile);
void small_symmetric(const SymmetricBlock<double>& block, Profile profile);
void tiled_symmetric(const SymmetricBlock<float>& block, Profile profile);
void tiled_symmetric(const SymmetricBlock<double>& block, Profile profile);

}  // namespace gaussflow::direct
