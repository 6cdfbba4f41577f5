#pragma once
/// The reference sum as operations on whole arrays, for devices other than the CPU.

#include "gaussflow/kernel/reference.hpp"

namespace gaussflow {

/// Like reference_sum, of fp64 operands on any device.
Tensor reference_blocks(const Tensor& q, const Tensor& k, const Tensor& v, double tau, ReferenceAccuracy accuracy);

/// Φ of a block of pairs [B, M, N], fp64, from exponents in twice the precision.
Tensor reference_profile(const Tensor& q, const Tensor& k, double tau);

}  // namespace gaussflow
