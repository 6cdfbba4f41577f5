#pragma once
/// The radial profiles of the direct kernel; ρ = √τ ‖q − k‖.

namespace gaussflow::direct {

enum class Profile {
  gaussian,  ///< exp(-ρ²/2)
  laplace,   ///< exp(-ρ)
  imq,       ///< 1/√(1 + ρ²)
  riesz,     ///< -‖q − k‖, whatever τ: half the energy distance's kernel
  matern32,  ///< (1 + √3 ρ) exp(-√3 ρ)
  matern52,  ///< (1 + √5 ρ + 5/3 ρ²) exp(-√5 ρ)
};

}  // namespace gaussflow::direct
