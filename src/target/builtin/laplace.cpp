#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 2;
};

/// log p = −‖x‖: a cone, not differentiable at 0, where the score is 0 (a subgradient) and never 0/0.
class Laplace final : public Formula {
 public:
  explicit Laplace(const Options& o) : Formula("laplace", o.dim) {}

  /// ‖x‖ is Gamma(D, 1), so E‖x‖² = D (D + 1).
  std::optional<Moments> moments() const override { return equal_moments(dim(), 0, static_cast<double>(dim() + 1)); }

 private:
  Density evaluate(const Tensor& x) const override {
    // Scaled by the largest coordinate: x² alone would underflow near 0 and overflow far out.
    const Tensor largest = x.abs().amax(1, true);
    const Tensor u = x / at::where(largest > 0, largest, 1.0);
    const Tensor norm = u.square().sum(1, true).sqrt_();
    return {.log_prob = (norm * largest).squeeze(1).neg_(), .score = (u / at::where(norm > 0, norm, 1.0)).neg_()};
  }
};

[[maybe_unused]] const bool registered =
    register_target("laplace",
                    config::Schema<Options>("a cone with heavy tails: log p = -|x|")
                        .key("dim", &Options::dim, {.doc = "dimension", .min = 1})
                        .main("dim"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Laplace>(o); });

}  // namespace
}  // namespace gaussflow
