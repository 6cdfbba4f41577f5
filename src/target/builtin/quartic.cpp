#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 2;
};

/// log p = −Σ x⁴/4: lighter tails than normal, a score that grows with the cube.
class Quartic final : public Formula {
 public:
  explicit Quartic(const Options& o) : Formula("quartic", o.dim) {}
  std::optional<Moments> moments() const override {
    return equal_moments(dim(), 0, 2 * std::tgamma(0.75) / std::tgamma(0.25));
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor x2 = x.square();
    return {.log_prob = x2.square().sum(1) / -4, .score = (x2 * x).neg_()};
  }
};

[[maybe_unused]] const bool registered =
    register_target("quartic",
                    config::Schema<Options>("light tails: log p = -sum x^4 / 4")
                        .key("dim", &Options::dim, {.doc = "dimension", .min = 1})
                        .main("dim"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Quartic>(o); });

}  // namespace
}  // namespace gaussflow
