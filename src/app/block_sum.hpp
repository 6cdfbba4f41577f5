#pragma once
/// A sum over blocks of keys that overflows only where it must.

#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace gaussflow::app {

/// Parts of a sum that is linear in the values v [B?, N, C], added in fp64. Values so large that a partial sum might overflow
/// are scaled by powers of two, one a column, which is exact.
class BlockSum {
 public:
  /// `keys`: of all blocks together; `inside`: the narrowest type that a part passes through.
  BlockSum(std::int64_t keys, at::ScalarType inside);

  /// Adds evaluate(v) [B?, M, C, …], which with all numbers on the way is at most 2^growth Σ|v|; growth ≥ 0.
  void add(const Tensor& v, double growth, const std::function<Tensor(const Tensor&)>& evaluate);

  /// The sum in `dtype`.   Throws NumericalError when it is larger than that holds, naming `what` and its largest magnitude.
  Tensor total(at::ScalarType dtype, const std::string& what) const;

 private:
  double keys_, limit_;
  Tensor sum_;    ///< times 2^-shift_
  Tensor shift_;  ///< [B?, 1, C], whole numbers ≥ 0
};

}  // namespace gaussflow::app
