#pragma once
/// One evaluation for each reduction, behind the guards of range.hpp: operands are not empty and the range fits.

#include "gaussflow/kernel/reweight.hpp"

#include "kernel/frame.hpp"

namespace gaussflow {

/// How an attention reduction is to run.
struct AttentionPlan {
  at::ScalarType dtype = at::kFloat;
  AttentionBackend backend = AttentionBackend::flash;
  bool split = false;  ///< coordinates as hi + lo columns
  double kappa = 1;
};

/// Columns that hold the norms: two in half types, where one loses u τR²/2.
inline int norm_columns(at::ScalarType dtype) { return is_half(dtype) ? 2 : 1; }
/// Columns that hold the coordinates.
inline std::int64_t coordinate_columns(std::int64_t D, bool split) { return split ? 3 * D : D; }

constexpr std::int64_t channel_limit = 255;  ///< value channels of one call

/// The dtype sums leave a reduction in: fp64 where either end is, else fp32.
inline at::ScalarType wide_dtype(const Operands& operands, at::ScalarType dtype) {
  return dtype == at::kDouble || operands.v.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// [B, M, C] in wide_dtype.
Reweighted reweight_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);
Tensor prescale_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);
Tensor logit_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);

/// The operands of a logit call, for its forward and for the gradients that share them.
struct LogitOperands {
  Tensor q, k;         ///< [B, T, width]
  Tensor q_half_norm;  ///< ½‖q'‖², fp64 [B, M]
  Tensor key_bias;     ///< -½‖k'‖² [B, N]; undefined where columns hold it
};
LogitOperands logit_operands(const Operands& operands, const Frame& frame, const AttentionPlan& plan, std::int64_t width);
/// Whether the key term is an additive bias (exact in fp32, no column) rather than columns.
bool logit_has_bias(const at::Device& device, at::ScalarType dtype, AttentionBackend backend);

}  // namespace gaussflow
