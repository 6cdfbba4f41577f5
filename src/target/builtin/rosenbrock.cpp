#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace gaussflow {
namespace {

struct Options {};

/// log p = −[(1 − x₁)² + 100 (x₂ − x₁²)²] / 20 − log 2π: x₁ ~ N(1, 10), x₂ | x₁ ~ N(x₁², 1/10).      [Goodman & Weare 2010]
class Rosenbrock final : public Formula {
 public:
  Rosenbrock() : Formula("rosenbrock", 2) {}
  std::optional<Moments> moments() const override { return moments_from({1, 11}, {10, 240.1}); }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor x1 = x.select(1, 0), e = x.select(1, 1) - x1.square();
    return {.log_prob = (1 - x1).square() / -20 - 5 * e.square() - std::log(2 * std::numbers::pi),
            .score = at::stack({(1 - x1) / 10 + 20 * x1 * e, -10 * e}, 1)};
  }
};

[[maybe_unused]] const bool registered =
    register_target("rosenbrock", config::Schema<Options>("long curved ridge: -[(1 - x1)^2 + 100 (x2 - x1^2)^2] / 20"),
                    [](const Options&, const TargetContext&) { return std::make_unique<Rosenbrock>(); });

}  // namespace
}  // namespace gaussflow
