#pragma once
/// Query gradients as Gauss sums again: eq. 8 for every channel.

#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/operands.hpp"

#include <initializer_list>
#include <optional>

namespace gaussflow {

/// Operands in the dtype gradients are formed in (half types: fp32), and the points around their common centre: the two
/// terms of eq. 8 then do not cancel on offset data. The centre carries no gradient: sums do not depend on it.
struct GradientOperands {
  Operands operands;
  Tensor q, k;              ///< x − c
  GaussSumOptions options;  ///< with the dtype of the original operands inside
};
GradientOperands gradient_operands(const Operands& operands, const GaussSumOptions& options);

/// Channels c of S[v_c] [B, M, C] and their gradients τ (S[v_c k] − q S[v_c]) [B, M, C, D], `count` of them from `first`.
/// [Eq. (8)]
struct ChannelGradients {
  Tensor sum;
  Tensor gradient;
};
ChannelGradients channel_gradients(const GradientOperands& g, const Tensor& tau, std::int64_t first, std::int64_t count);

/// Whether autograd is to see what is made of these.
bool records_gradients(std::initializer_list<Tensor> operands);

/// Value and gradient for v [B, N, 1] by the fused kernel, in result_dtype; empty where it does not take them.
std::optional<ValueAndGradient> fused_field(const Operands& operands, const GaussSumOptions& options);

/// Channels whose gradients are formed at once: bounds the memory, [M, count (D + 1)].
std::int64_t gradient_block(std::int64_t D);

}  // namespace gaussflow
