#pragma once
/// Radial kernels by name.

namespace gaussflow {

/// Φ as a function of ρ = √τ ‖q − k‖.
enum class Profile {
  gaussian,  ///< exp(-ρ²/2)
  laplace,   ///< exp(-ρ)
  imq,       ///< 1/√(1 + ρ²)
  riesz,     ///< -‖q − k‖, whatever τ: the kernel of the energy distance
  matern32,  ///< (1 + √3 ρ) exp(-√3 ρ)
  matern52,  ///< (1 + √5 ρ + 5/3 ρ²) exp(-√5 ρ)
};

}  // namespace gaussflow
