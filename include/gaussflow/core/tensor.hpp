#pragma once
/// The one tensor type of the engine. Only the light ATen header: public headers must stay cheap to include.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace gaussflow {

using Tensor = at::Tensor;

/// "[500, 3]", as error messages print a shape.
std::string shape_text(const Tensor& t);

/// The name used in configs and messages: fp16, bf16, fp32, fp64 (else ATen's own name).
std::string dtype_name(at::ScalarType dtype);

/// The inverse for the four float types. Throws UsageError on any other word.
at::ScalarType dtype_from_name(const std::string& name);

/// A [rows, cols] fp64 tensor that owns a copy of `values` (row-major).
Tensor tensor_from(const std::vector<double>& values, std::int64_t rows, std::int64_t cols);
/// A [n] fp64 tensor that owns a copy of `values`.
Tensor tensor_from(const std::vector<double>& values);
/// The numbers of a tensor of any real dtype as fp64, row-major.
std::vector<double> to_vector(const Tensor& t);

/// The first non-finite entry of a 1-D or 2-D tensor, or {-1, -1}; `count` is how many there are.
struct NonFinite {
  std::int64_t count = 0;
  std::int64_t row = -1;
  std::int64_t column = -1;
};
NonFinite find_non_finite(const Tensor& t);

}  // namespace gaussflow
