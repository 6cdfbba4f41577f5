#include "gaussflow/target/whitened.hpp"

#include "gaussflow/core/error.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace gaussflow {

WhitenedTarget::WhitenedTarget(const Target& inner, const Tensor& scale) : inner_(inner), scale_(scale) {
  if (scale.dim() != 1 || scale.size(0) != inner.dim())
    throw ShapeError(fmt::format("scales have shape {} but the target has dimension {}", shape_text(scale), inner.dim()));
  const std::vector<double> values = to_vector(scale);
  for (std::size_t d = 0; d < values.size(); ++d)
    if (!(values[d] > 0 && std::isfinite(values[d])))
      throw NumericalError(
          fmt::format("the scale of {} is {}: it must be positive and finite", inner.names()[d], values[d]));
}

Density WhitenedTarget::density(const Tensor& y, const Draw& draw) const {
  const Tensor scale = scale_.like(y);
  Density result = inner_.density(y * scale, draw);
  result.score = result.score * scale;
  return result;
}

Cloud WhitenedTarget::samples(const Draw& draw, at::ScalarType dtype) const {
  Cloud cloud = inner_.samples(draw, dtype);
  cloud.points = cloud.points / scale_.like(cloud.points);
  return cloud;
}

Cloud WhitenedTarget::all_samples(at::ScalarType dtype) const {
  Cloud cloud = inner_.all_samples(dtype);
  cloud.points = cloud.points / scale_.like(cloud.points);
  return cloud;
}

std::optional<Moments> WhitenedTarget::moments() const {
  std::optional<Moments> m = inner_.moments();
  if (m) *m = {.mean = m->mean / scale_.fp64(), .sd = m->sd / scale_.fp64()};
  return m;
}

Tensor WhitenedTarget::constrain(const Tensor& y) const { return inner_.constrain(y * scale_.like(y)); }

}  // namespace gaussflow
