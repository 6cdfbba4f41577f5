#include "kernel/operands.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {

namespace {

bool is_float(at::ScalarType t) { return t == at::kDouble || t == at::kFloat || is_half(t); }

[[noreturn]] void throw_non_finite(const char* name, const Operands& operands, const Tensor& t) {
  for (std::int64_t b = 0; b < t.size(0); ++b) {
    const NonFinite bad = find_non_finite(t[b]);
    if (bad.count == 0) continue;
    const std::string batch = operands.batched ? fmt::format("batch {}, ", b) : "";
    throw InputError(fmt::format("{} {}row {}, column {} is {}", name, batch, bad.row, bad.column,
                                 t[b][bad.row][bad.column].item<double>()));
  }
  throw InputError(fmt::format("{} holds an entry that is not finite", name));
}

void check_finite(const char* name, const Operands& operands, const Tensor& t) {
  if (t.numel() == 0) return;
  const auto [low, high] = at::aminmax(t.detach());  // one pass without a copy; NaN wins both
  if (!std::isfinite(low.item<double>()) || !std::isfinite(high.item<double>()))
    throw_non_finite(name, operands, t.detach());
}

}  // namespace

void check_tau(double tau) {
  if (!(std::isfinite(tau) && tau > 0))
    throw InputError(fmt::format("tau must be finite and > 0, got {}", number_text(tau)));
}

Operands shaped_operands(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto fail = [&](const std::string& what) {
    throw ShapeError(fmt::format("{}: q {}, k {}, v {}", what, shape_text(q), shape_text(k), shape_text(v)));
  };
  if (!q.defined() || !k.defined() || !v.defined()) throw ShapeError("q, k and v must be defined");
  if ((q.dim() != 2 && q.dim() != 3) || k.dim() != q.dim() || v.dim() != q.dim())
    fail("q [B?, M, D], k [B?, N, D] and v [B?, N, C] must have 2 axes each, or 3 with a batch");
  if (q.size(-1) != k.size(-1)) fail("q and k must have the same dimension");
  if (q.size(-1) == 0) fail("points of dimension 0");
  if (k.size(-2) != v.size(-2)) fail("each key needs one row of v");
  if (q.dim() == 3 && (q.size(0) != k.size(0) || q.size(0) != v.size(0))) fail("the batches differ");
  if (q.scalar_type() != k.scalar_type() || q.scalar_type() != v.scalar_type())
    throw ShapeError(fmt::format("q is {}, k {} and v {}: give all three the same dtype", dtype_name(q.scalar_type()),
                                 dtype_name(k.scalar_type()), dtype_name(v.scalar_type())));
  if (!is_float(q.scalar_type()))
    throw ShapeError(fmt::format("operands must be fp16, bf16, fp32 or fp64, not {}", dtype_name(q.scalar_type())));
  if (q.device() != k.device() || q.device() != v.device())
    throw ShapeError(fmt::format("q is on {}, k on {} and v on {}: move them to one device", q.device().str(),
                                 k.device().str(), v.device().str()));
  if (q.dim() == 3) return {q, k, v, true};
  return {q.unsqueeze(0), k.unsqueeze(0), v.unsqueeze(0), false};
}

Operands checked_operands(const Tensor& q, const Tensor& k, const Tensor& v, double tau) {
  check_tau(tau);
  Operands operands = shaped_operands(q, k, v);
  check_finite("q", operands, operands.q);
  if (!k.is_same(q)) check_finite("k", operands, operands.k);
  check_finite("v", operands, operands.v);
  return operands;
}

at::ScalarType result_dtype(const Operands& operands) {
  return is_half(operands.v.scalar_type()) ? at::kFloat : operands.v.scalar_type();
}

at::ScalarType compute_dtype(const Operands& operands, const GaussSumOptions& options) {
  const at::ScalarType dtype = options.compute_dtype.value_or(operands.v.scalar_type());
  if (!is_float(dtype)) throw UnsupportedError("compute dtype must be fp16, bf16, fp32 or fp64, not " + dtype_name(dtype));
  return dtype;
}

}  // namespace gaussflow
