#include "gaussflow/target/target.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace gaussflow {

Density Target::density(const Tensor&, const Draw&) const {
  throw UsageError(
      fmt::format("target {} has no density: a flow that needs scores (svgd) wants a target with a formula, "
                  "torchscript, logistic …",
                  record().kind));
}

Cloud Target::samples(const Draw&, at::ScalarType) const {
  throw UsageError(
      fmt::format("target {} has no samples: a flow between samples (mmd) wants the target samples", record().kind));
}

Cloud Target::all_samples(at::ScalarType dtype) const { return samples({}, dtype); }

std::vector<std::string> Target::names() const {
  std::vector<std::string> result;
  for (std::int64_t d = 1; d <= dim(); ++d) result.push_back(fmt::format("x{}", d));
  return result;
}

Density Formula::density(const Tensor& x, const Draw&) const {
  check_particles(kind_, dim_, x);
  return evaluate(x);
}

void check_particles(const std::string& kind, std::int64_t dim, const Tensor& x) {
  if (x.dim() != 2 || x.size(1) != dim)
    throw ShapeError(fmt::format("target {} has dimension {} but the particles have shape {}", kind, dim, shape_text(x)));
}

Moments equal_moments(std::int64_t dim, double mean, double variance) {
  return {.mean = at::full({dim}, mean, at::kDouble), .sd = at::full({dim}, variance, at::kDouble).sqrt_()};
}

Moments moments_from(const std::vector<double>& mean, const std::vector<double>& variance) {
  return {.mean = tensor_from(mean), .sd = tensor_from(variance).sqrt_()};
}

}  // namespace gaussflow
