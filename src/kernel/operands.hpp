#pragma once
/// The operands of one sum, checked once.

#include "gaussflow/kernel/options.hpp"

namespace gaussflow {

/// q [B, M, D], k [B, N, D], v [B, N, C], one device; a batch of one when none was given.
struct Operands {
  Tensor q, k, v;
  bool batched = false;

  std::int64_t B() const { return q.size(0); }
  std::int64_t M() const { return q.size(1); }
  std::int64_t N() const { return k.size(1); }
  std::int64_t D() const { return q.size(2); }
  std::int64_t C() const { return v.size(2); }
  bool empty() const { return B() == 0 || M() == 0 || N() == 0 || C() == 0; }

  /// Removes the batch axis again when none was given.
  Tensor restore(const Tensor& t) const { return batched ? t : t.squeeze(0); }
};

/// Throws ShapeError on shapes, dtypes or devices that do not fit, InputError on tau outside (0, ∞) and, naming batch, row
/// and column, on the first entry that is not finite.
Operands checked_operands(const Tensor& q, const Tensor& k, const Tensor& v, double tau);
/// Shapes, dtypes and devices only.
Operands shaped_operands(const Tensor& q, const Tensor& k, const Tensor& v);
void check_tau(double tau);

/// The dtype of the result: half types sum to fp32.
at::ScalarType result_dtype(const Operands& operands);
/// The dtype inside the reduction.
at::ScalarType compute_dtype(const Operands& operands, const GaussSumOptions& options);

inline bool is_half(at::ScalarType t) { return t == at::kHalf || t == at::kBFloat16; }

}  // namespace gaussflow
