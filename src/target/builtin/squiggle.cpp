#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/normal.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace gaussflow {
namespace {

struct Options {
  double frequency = 5;
};

/// (x₁, x₂ + sin(w x₁)) ~ N(0, [[2, 1/4], [1/4, 1/2]]): the map has Jacobian 1.
class Squiggle final : public Formula {
 public:
  explicit Squiggle(const Options& o) : Formula("squiggle", 2), w_(o.frequency) {}

  /// Var x₂ = Var y₂ + Var sin(w y₁) − 2 Cov(y₂, sin(w y₁)), each in closed form for normal y.
  std::optional<Moments> moments() const override {
    const double v2 = 0.5 + 0.5 * (1 - std::exp(-4 * w_ * w_)) - 2 * 0.25 * w_ * std::exp(-w_ * w_);
    return moments_from({0, 0}, {2, v2});
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor x1 = x.select(1, 0), phase = w_ * x1;
    Density result = law_.density(at::stack({x1, x.select(1, 1) + at::sin(phase)}, 1));
    result.score.select(1, 0).add_(w_ * at::cos(phase) * result.score.select(1, 1));
    return result;
  }

  double w_;
  Normal law_{{0, 0}, std::vector<std::vector<double>>{{2, 0.25}, {0.25, 0.5}}};
};

[[maybe_unused]] const bool registered =
    register_target("squiggle",
                    config::Schema<Options>("sine-shaped normal law: (x1, x2 + sin(frequency x1)) is normal")
                        .key("frequency", &Options::frequency, {.doc = "how fast it winds"})
                        .main("frequency"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Squiggle>(o); });

}  // namespace
}  // namespace gaussflow
