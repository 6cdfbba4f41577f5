#include "app/block_sum.hpp"

#include "gaussflow/core/error.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace gaussflow::app {

namespace {

/// t · 2^e in t's type. In two factors: 2^e alone may leave the range where the product does not.
Tensor scaled(const Tensor& t, const Tensor& e) {
  if (!e.ne(0).any().item<bool>()) return t;
  const Tensor half = at::floor(e / 2), rest = e - half;
  const auto factor = [&](const Tensor& exponent) {
    const Tensor power = at::exp2(exponent);
    return t.dim() > power.dim() ? power.unsqueeze(-1) : power;
  };
  return (t.to(at::kDouble) * factor(half) * factor(rest)).to(t.scalar_type());
}

/// The largest |t| 2^e as text, also where fp64 does not hold it.
std::string largest(const Tensor& t, const Tensor& e) {
  const Tensor powers = t.dim() > e.dim() ? e.unsqueeze(-1) : e;
  const double digits = (at::log2(t.to(at::kDouble).abs()) + powers).max().item<double>() * std::log10(2.0);
  const double whole = std::floor(digits);
  return fmt::format("{:.3g}e{:.0f}", std::pow(10.0, digits - whole), whole);
}

}  // namespace

BlockSum::BlockSum(std::int64_t keys, at::ScalarType inside)
    : keys_(static_cast<double>(keys)), limit_(inside == at::kDouble ? 1022 : 126) {}

void BlockSum::add(const Tensor& v, double growth, const std::function<Tensor(const Tensor&)>& evaluate) {
  Tensor shift;
  if (v.size(-2) == 0) {
    shift = at::zeros_like(v.sum(-2, true), at::kDouble);
  } else {
    const Tensor exponent = std::get<1>(at::frexp(v.abs().amax({-2}, true)));
    shift = (exponent.to(at::kDouble) + (std::ceil(std::log2(keys_) + growth) - limit_)).clamp_min(0);
  }
  if (shift_.defined()) {
    shift = at::maximum(shift, shift_);
    sum_ = scaled(sum_.to(at::kDouble), shift_ - shift);
  }
  shift_ = shift;
  const Tensor part = evaluate(scaled(v, -shift_));
  sum_ = sum_.defined() ? sum_ + part : part;
}

Tensor BlockSum::total(at::ScalarType dtype, const std::string& what) const {
  const Tensor result = scaled(dtype == at::kDouble ? sum_.to(at::kDouble) : sum_, shift_).to(dtype);
  if (at::isfinite(result).all().item<bool>()) return result;
  if (!at::isfinite(sum_).all().item<bool>())
    throw NumericalError(what + " is not finite: a number on the way to it left the range of the type");
  const std::string size = fmt::format("{} has entries up to {} in magnitude", what, largest(sum_, shift_));
  throw NumericalError(
      dtype == at::kDouble
          ? size + ", fp64 holds 1.8e308 at most: divide v by a power of two, the sum is then smaller by the same factor"
          : size + ", fp32 holds 3.4e38 at most: add --dtype fp64");
}

}  // namespace gaussflow::app
