#pragma once
/// One evaluation for each attention reduction. Operands are not empty, and range.hpp has found them in range.

#include "gaussflow/kernel/reweight.hpp"

#include "kernel/frame.hpp"

namespace gaussflow {

/// How an attention reduction is to run.
struct AttentionPlan {
  at::ScalarType dtype = at::kFloat;
  AttentionBackend backend = AttentionBackend::flash;
  bool split = false;  ///< half types: coordinates as hi + lo columns
  double kappa = 1;
};

constexpr std::int64_t channel_limit = 255;  ///< value channels of one call

/// The dtype sums leave a reduction in: fp64 where either end is, else fp32.
inline at::ScalarType wide_dtype(const Operands& operands, at::ScalarType dtype) {
  return dtype == at::kDouble || operands.v.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// [B, M, C] in wide_dtype.
Reweighted reweight_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);
Tensor prescale_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);
Tensor logit_call(const Operands& operands, const Frame& frame, const AttentionPlan& plan);

/// Where ½‖q'‖² and ½‖k'‖² of the logit -½‖q' − k'‖² are.
enum class Norms {
  columns,  ///< both in columns, one in fp32 and fp64, hi + lo in half types
  bias,     ///< the key's as a bias, the query's outside
  outside,  ///< both outside
};

/// Points as attention operands: q̃ = [q, 1, ½‖q‖²], k̃ = [k, -½‖k‖², -1], logits -½‖q' − k'‖² ≤ 0. The paper's column for
/// ½‖q‖² is met by the auxiliary key alone; here it lowers all the other logits, the same softmax, without the rounding of
/// large ones.
struct Points {
  Tensor q, k;         ///< [B, T, width]
  Tensor q_half_norm;  ///< [B, M, 1] fp64, of Norms::bias and outside
  Tensor k_half_norm;  ///< [B, N, 1] fp64, the same
};
Points points_for(const Operands& operands, const Frame& frame, const AttentionPlan& plan, Norms norms, std::int64_t width);

/// Columns that points_for fills.
std::int64_t point_columns(std::int64_t D, const AttentionPlan& plan, Norms norms);

/// Where logit keeps the norms: a bias is exact and needs no column, but half types on a GPU would round it.
Norms logit_norms(const at::Device& device, const AttentionPlan& plan);

/// The width of the one call and the channels it takes.
std::int64_t call_width(Reduction reduction, const Operands& operands, const AttentionPlan& plan);

}  // namespace gaussflow
