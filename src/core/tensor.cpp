#include "gaussflow/core/tensor.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace gaussflow {

namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 4> dtypes{
    {{"fp16", at::kHalf}, {"bf16", at::kBFloat16}, {"fp32", at::kFloat}, {"fp64", at::kDouble}}};

}  // namespace

std::string shape_text(const Tensor& t) { return fmt::format("[{}]", fmt::join(t.sizes(), ", ")); }

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& [name, value] : dtypes)
    if (value == dtype) return name;
  return c10::toString(dtype);
}

at::ScalarType dtype_from_name(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, value] : dtypes) {
    if (name == known) return value;
    names.emplace_back(known);
  }
  throw UsageError(fmt::format("unknown dtype '{}': use {}", name, either(names)));
}

Tensor tensor_from(const std::vector<double>& values, std::int64_t rows, std::int64_t cols) {
  return tensor_from(values).view({rows, cols});
}

Tensor tensor_from(const std::vector<double>& values) {
  Tensor t = at::empty({static_cast<std::int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t;
}

std::vector<double> to_vector(const Tensor& t) {
  const Tensor flat = t.to(at::kCPU, at::kDouble).contiguous().view(-1);
  const double* data = flat.const_data_ptr<double>();
  return {data, data + flat.numel()};
}

NonFinite find_non_finite(const Tensor& t) {
  const Tensor bad = at::isfinite(t.detach()).logical_not();
  NonFinite result;
  result.count = bad.sum().item<std::int64_t>();
  if (result.count == 0) return result;
  const std::int64_t first = bad.reshape({-1}).to(at::kByte).argmax().item<std::int64_t>();
  const std::int64_t cols = t.dim() >= 2 ? t.size(-1) : 1;
  result.row = first / cols;
  result.column = first % cols;
  return result;
}

}  // namespace gaussflow
