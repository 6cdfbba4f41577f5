#pragma once
/// Numbers of a target: kept in fp64, used in the dtype and on the device of the particles.

#include "gaussflow/core/tensor.hpp"

#include <memory>

namespace gaussflow {

/// A constant tensor with its last conversion remembered, so that data sets are not converted in every step.
class Constant {
 public:
  Constant();
  explicit Constant(const Tensor& value);

  /// In the dtype and on the device of `x`. Safe to call from several threads.
  Tensor like(const Tensor& x) const;
  Tensor in(at::ScalarType dtype) const;
  const Tensor& fp64() const { return value_; }

 private:
  struct Converted;
  Tensor value_;
  std::shared_ptr<Converted> converted_;  ///< shared by copies: the value never changes
};

}  // namespace gaussflow
