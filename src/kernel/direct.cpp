#include "gaussflow/kernel/direct.hpp"

#include "gaussflow/core/error.hpp"

#include "kernel/direct/direct.hpp"
#include "kernel/direct/kernels.hpp"

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
direct::Problem<In> problem_of(const Tensor& q, const Tensor& k, double tau) {
  direct::Problem<In> problem{};
  problem.q = array_of<In>(q);
  problem.k = array_of<In>(k);
  problem.B = q.dim() == 3 ? q.size(0) : 1;
  problem.M = q.size(-2);
  problem.N = k.size(-2);
  problem.D = q.size(-1);
  problem.tau = tau;
  return problem;
}

template <class In>
direct::Problem<In> symmetric_problem(const Tensor& x, const Tensor& v, double tau, Profile profile) {
  auto problem = problem_of<In>(x, x, tau);
  problem.v = array_of<In>(v);
  problem.C = v.size(-1);
  problem.profile = profile;
  return problem;
}

/// Runs a problem in the dtype asked for.
template <class In>
void run(const direct::Problem<In>& problem, const direct::Output<In>& out, at::ScalarType compute) {
  compute == at::kFloat ? direct::kernel_sum<float>(problem, out) : direct::kernel_sum<double>(problem, out);
}

/// Calls f with a number of the operands' type.
template <class F>
void with_type(const Tensor& t, const F& f) {
  t.scalar_type() == at::kFloat ? f(float{}) : f(double{});
}

Tensor like_rows(const Tensor& q, std::int64_t columns) {
  std::vector<std::int64_t> shape(q.sizes().begin(), q.sizes().end());
  shape.back() = columns;
  return at::empty(shape, q.options());
}

bool empty(const Tensor& q, const Tensor& k) { return q.numel() == 0 || k.numel() == 0; }

/// Where values are formed with the mean, they cancel against it: 4 bits are lost at this spread.
constexpr double largest_cancelling_spread = 16;

template <class In>
at::ScalarType field_type(const Tensor& k, double tau, std::optional<at::ScalarType> compute) {
  const at::ScalarType type = compute.value_or(k.scalar_type());
  if (type == at::kDouble || k.size(-1) <= direct::small_dim) return type;
  const auto extent = direct::extent_of(array_of<In>(k), k.dim() == 3 ? k.size(0) : 1, k.size(-2), k.size(-1));
  return std::sqrt(tau) * extent.centred > largest_cancelling_spread ? at::kDouble : type;
}

/// Beyond this the squared distance of two points may leave the range of the type.
double largest_extent(at::ScalarType compute) { return compute == at::kFloat ? 1e37 : 1e300; }

/// fp64 points in fp32: rounded at a distance R from their mean, they move 2^-t by up to 0.7 √t (1.7 R + √t) eps, 17 where rows
/// begin to be evaluated again in fp64, beside the 14 or so of any points.
constexpr double largest_rounded_spread = 1.2;

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
      *why = fmt::format("fp32 would round the points (√τ max|k − mean| is {1:.3g}, up to {0:g} it does not show)",
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
  return direct_radial_sum(q, k, v, tau, Profile::gaussian, compute);
}

Tensor direct_radial_sum(const Tensor& q, const Tensor& k, const Tensor& v, double tau, Profile profile,
                         std::optional<at::ScalarType> compute) {
  Tensor out = like_rows(q, v.size(-1));
  if (empty(q, k) || v.numel() == 0) return out.zero_();
  with_type(q, [&](auto number) {
    using In = decltype(number);
    auto problem = problem_of<In>(q, k, tau);
    problem.v = array_of<In>(v);
    problem.C = v.size(-1);
    problem.profile = profile;
    run<In>(problem, {out.mutable_data_ptr<In>()}, compute.value_or(v.scalar_type()));
  });
  return out;
}

DirectField direct_field(const Tensor& q, const Tensor& k, const Tensor& w, double tau,
                         std::optional<at::ScalarType> compute) {
  DirectField field{like_rows(q, 1), like_rows(q, q.size(-1))};
  if (empty(q, k)) {
    field.gradient.zero_();
    return {field.value.zero_().squeeze(-1), field.gradient};
  }
  const Tensor column = w.unsqueeze(-1);
  with_type(q, [&](auto number) {
    using In = decltype(number);
    auto problem = problem_of<In>(q, k, tau);
    problem.kind = direct::Kind::field;
    problem.v = array_of<In>(column);
    problem.C = 1;
    run<In>(problem, {field.value.mutable_data_ptr<In>(), field.gradient.mutable_data_ptr<In>()},
            field_type<In>(k, tau, compute));
  });
  field.value = field.value.squeeze(-1);
  return field;
}

Tensor direct_stein(const Tensor& q, const Tensor& x, const Tensor& score, const Tensor& a, double tau,
                    std::optional<at::ScalarType> compute) {
  Tensor out = like_rows(q, q.size(-1));
  if (empty(q, x)) return out.zero_();
  const Tensor column = a.unsqueeze(-1);
  with_type(q, [&](auto number) {
    using In = decltype(number);
    auto problem = problem_of<In>(q, x, tau);
    problem.kind = direct::Kind::stein;
    problem.v = array_of<In>(score);
    problem.a = array_of<In>(column);
    problem.C = q.size(-1);
    run<In>(problem, {out.mutable_data_ptr<In>()}, field_type<In>(x, tau, compute));
  });
  return out;
}

Tensor direct_symmetric_sum(const Tensor& x, const Tensor& v, double tau, Profile profile,
                            std::optional<at::ScalarType> compute) {
  if (v.size(-1) > direct::small_channels || v.size(-1) == 0 || x.numel() == 0) {
    return direct_radial_sum(x, x, v, tau, profile, compute);
  }
  Tensor out = like_rows(x, v.size(-1));
  with_type(x, [&](auto number) {
    using In = decltype(number);
    const auto problem = symmetric_problem<In>(x, v, tau, profile);
    In* to = out.mutable_data_ptr<In>();
    compute.value_or(v.scalar_type()) == at::kFloat ? direct::kernel_symmetric_sum<float>(problem, to)
                                                    : direct::kernel_symmetric_sum<double>(problem, to);
  });
  return out;
}

Tensor direct_energy(const Tensor& x, const Tensor& v, double tau, Profile profile, std::optional<at::ScalarType> compute) {
  Tensor out = at::zeros(x.dim() == 3 ? std::vector<std::int64_t>{x.size(0)} : std::vector<std::int64_t>{}, at::kDouble);
  if (x.numel() == 0) return out;
  const Tensor column = v.unsqueeze(-1);
  with_type(x, [&](auto number) {
    using In = decltype(number);
    const auto problem = symmetric_problem<In>(x, column, tau, profile);
    double* to = out.mutable_data_ptr<double>();
    compute.value_or(v.scalar_type()) == at::kFloat ? direct::kernel_energy<float>(problem, to)
                                                    : direct::kernel_energy<double>(problem, to);
  });
  return out;
}

}  // namespace gaussflow
