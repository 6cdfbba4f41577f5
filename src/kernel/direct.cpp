#include "gaussflow/kernel/direct.hpp"

#include "gaussflow/core/error.hpp"

#include "kernel/direct/direct.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow {
namespace {

template <class In>
direct::Array<In> array_of(const Tensor& t) {
  const bool batched = t.dim() == 3;
  return {t.const_data_ptr<In>(), batched ? t.stride(0) : 0, t.stride(batched ? 1 : 0), t.stride(batched ? 2 : 1)};
}

template <class In>
direct::Problem<In> problem_of(const Tensor& q, const Tensor& k, const Tensor& v, double tau) {
  return {.q = array_of<In>(q),
          .k = array_of<In>(k),
          .v = array_of<In>(v),
          .B = q.dim() == 3 ? q.size(0) : 1,
          .M = q.size(-2),
          .N = k.size(-2),
          .D = q.size(-1),
          .C = v.size(-1),
          .tau = tau};
}

/// Beyond this the squared distance of two points may leave the range of the type.
double largest_extent(at::ScalarType compute) { return compute == at::kFloat ? 1e37 : 1e300; }

/// fp64 points in fp32: a spread of 200 moves a sum by up to 16 eps, half the contract.
constexpr double largest_rounded_spread = 200;

template <class In>
bool range_allows(const Tensor& q, const Tensor& k, const GaussSumOptions& options, at::ScalarType compute,
                  std::string* why) {
  const std::int64_t batches = q.dim() == 3 ? q.size(0) : 1;
  const double root = std::sqrt(options.tau);
  const auto of_q = direct::extent_of(array_of<In>(q), batches, q.size(-2), q.size(-1));
  const auto of_k = direct::extent_of(array_of<In>(k), batches, k.size(-2), k.size(-1));
  const double absolute = root * std::max(of_q.absolute, of_k.absolute);
  if (absolute > largest_extent(compute)) {
    if (why) {
      *why = fmt::format("direct in {} takes √τ max|x| up to {:g}, this problem has {:.3g}", dtype_name(compute),
                         largest_extent(compute), absolute);
    }
    return false;
  }
  if (compute == at::kFloat && q.scalar_type() == at::kDouble && root * of_k.centred > largest_rounded_spread) {
    if (why) {
      *why = fmt::format(
          "direct rounds fp64 points to fp32 for √τ max|k − mean| up to {:g}, this problem has {:.3g}; "
          "compute in fp64",
          largest_rounded_spread, root * of_k.centred);
    }
    return false;
  }
  return true;
}

}  // namespace

bool direct_supports(const Tensor& q, const Tensor& k, const Tensor& v, const GaussSumOptions& options, std::string* why) {
  const auto refuse = [why](std::string reason) {
    if (why) *why = std::move(reason);
    return false;
  };
  const at::ScalarType type = v.scalar_type(), compute = options.compute_dtype.value_or(type);
  if (!q.is_cpu() || !k.is_cpu() || !v.is_cpu()) return refuse("direct runs on the CPU");
  for (const at::ScalarType t : {type, compute}) {
    if (t != at::kFloat && t != at::kDouble) return refuse("direct computes in fp32 or fp64, not in " + dtype_name(t));
  }
  if (q.numel() == 0 || k.numel() == 0) return true;
  return type == at::kFloat ? range_allows<float>(q, k, options, compute, why)
                            : range_allows<double>(q, k, options, compute, why);
}

Tensor direct_gauss_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau,
                        std::optional<at::ScalarType> compute) {
  std::vector<std::int64_t> shape(q.sizes().begin(), q.sizes().end());
  shape.back() = v.size(-1);
  if (q.numel() == 0 || k.numel() == 0 || v.numel() == 0) return at::zeros(shape, v.options());
  Tensor out = at::empty(shape, v.options());
  const at::ScalarType type = compute.value_or(v.scalar_type());
  if (v.scalar_type() == at::kFloat) {
    const auto problem = problem_of<float>(q, k, v, tau);
    if (type == at::kFloat) {
      direct::kernel_sum<float>(problem, out.mutable_data_ptr<float>());
    } else {
      direct::kernel_sum<double>(problem, out.mutable_data_ptr<float>());
    }
  } else {
    const auto problem = problem_of<double>(q, k, v, tau);
    if (type == at::kFloat) {
      direct::kernel_sum<float>(problem, out.mutable_data_ptr<double>());
    } else {
      direct::kernel_sum<double>(problem, out.mutable_data_ptr<double>());
    }
  }
  return out;
}

}  // namespace gaussflow
