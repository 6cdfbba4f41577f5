#include "gaussflow/target/constant.hpp"

#include <ATen/ATen.h>

#include <mutex>

namespace gaussflow {

struct Constant::Converted {
  std::mutex mutex;
  Tensor value;
};

Constant::Constant() = default;

Constant::Constant(const Tensor& value) : value_(value.to(at::kDouble)), converted_(std::make_shared<Converted>()) {}

Tensor Constant::like(const Tensor& x) const {
  if (x.scalar_type() == at::kDouble && x.device() == value_.device()) return value_;
  const std::lock_guard lock(converted_->mutex);
  Tensor& held = converted_->value;
  if (!held.defined() || held.scalar_type() != x.scalar_type() || held.device() != x.device()) held = value_.to(x.options());
  return held;
}

Tensor Constant::in(at::ScalarType dtype) const { return like(at::empty({0}, dtype)); }

}  // namespace gaussflow
