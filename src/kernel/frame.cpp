#include "kernel/frame.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace gaussflow {

namespace {

/// max ‖x − c‖² over a set of points, in pieces.
double squared_radius(const Tensor& x, const Tensor& center) {
  double largest = 0;
  for_chunks(x.size(1), false, [&](std::int64_t begin, std::int64_t length) {
    const Tensor d = x.narrow(1, begin, length).to(at::kDouble) - center;
    const double radius = (d * d).sum(-1).max().item<double>();
    largest = radius <= largest ? largest : radius;  // NaN stays
  });
  return largest;
}

}  // namespace

void for_chunks(std::int64_t count, bool whole, const std::function<void(std::int64_t, std::int64_t)>& f) {
  const std::int64_t step = whole ? std::max<std::int64_t>(count, 1) : 16384;
  for (std::int64_t begin = 0; begin < count; begin += step) f(begin, std::min(step, count - begin));
}

Frame frame_of(const Operands& operands, const GaussSumOptions& options) {
  const Tensor q = operands.q.detach(), k = operands.k.detach();
  Frame frame;
  frame.root_tau = std::sqrt(options.tau);
  frame.center = at::zeros({operands.B(), 1, operands.D()}, q.options().dtype(at::kDouble));
  if (operands.empty()) return frame;
  if (options.center) {
    const Tensor origin = k.narrow(1, 0, 1).to(at::kDouble);  // sums of differences keep what sums of far points lose
    Tensor sum = at::zeros_like(origin);
    for (const Tensor& x : {q, k})
      for_chunks(x.size(1), false, [&](std::int64_t begin, std::int64_t length) {
        sum += (x.narrow(1, begin, length).to(at::kDouble) - origin).sum(1, true);
      });
    frame.center = origin + sum / static_cast<double>(operands.M() + operands.N());
  }
  frame.rho = options.tau * std::max(squared_radius(q, frame.center), squared_radius(k, frame.center));
  return frame;
}

Tensor Frame::apply(const Tensor& x) const { return (x.to(at::kDouble) - center) * root_tau; }

Coordinates coordinates(const Tensor& x, const Frame& frame, at::ScalarType dtype, bool split) {
  const Tensor exact = frame.apply(x);
  Coordinates result;
  result.rounded = exact.to(dtype);
  Tensor represented = result.rounded.to(at::kDouble);
  if (split) {
    result.rest = (exact - represented).detach().to(dtype);
    represented = represented + result.rest.to(at::kDouble);
  }
  result.half_norm = (represented * represented).sum(-1, true) * 0.5;
  return result;
}

Tensor channel_exponents(const Tensor& v) {
  const Tensor largest = v.detach().abs().amax({1}, true).to(at::kDouble);
  return std::get<1>(at::frexp(largest)).clamp(-1000, 1000).to(at::kDouble);
}

Tensor scaled_values(const Tensor& v, const Tensor& exponents, at::ScalarType dtype) {
  return at::ldexp(v.to(at::kDouble), -exponents).to(dtype);
}

Tensor unscaled(const Tensor& s, const Tensor& exponents) {
  return at::ldexp(s.to(at::kDouble), exponents).to(s.scalar_type());
}

Tensor assemble(std::int64_t B, std::int64_t T, std::int64_t width, const at::TensorOptions& options, bool differentiable,
                const std::function<Tensor(std::int64_t, std::int64_t)>& f) {
  if (differentiable) {
    const Tensor whole = f(0, T);
    return at::constant_pad_nd(whole, {0, width - whole.size(2)});
  }
  Tensor result = at::zeros({B, T, width}, options);
  for_chunks(T, false, [&](std::int64_t begin, std::int64_t length) {
    const Tensor part = f(begin, length);
    result.narrow(1, begin, length).narrow(2, 0, part.size(2)).copy_(part);
  });
  return result;
}

}  // namespace gaussflow
