#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace gaussflow {
namespace {

struct Options {
  double radius = 2;
  double sd = 0.2;
};

/// log p = −(‖x‖ − radius)² / (2 sd²) in the plane.
class Ring final : public Formula {
 public:
  explicit Ring(const Options& o) : Formula("ring", 2), radius_(o.radius), sd_(o.sd) {}

  /// Var x₁ = E r²/2 under the radial density r exp(−(r − R)²/2s²) on r > 0: with r = s t and c = R/s the moments
  /// M_k = ∫_0^∞ t^k e^{−(t − c)²/2} dt follow from M_0, M_1 = e^{−c²/2} + c M_0 and M_k = (k − 1) M_{k−2} + c M_{k−1} (k ≥
  /// 2).
  std::optional<Moments> moments() const override {
    const double c = radius_ / sd_;
    const double m0 = std::sqrt(std::acos(-1.0) / 2) * std::erfc(-c / std::sqrt(2.0));
    const double m1 = std::exp(-c * c / 2) + c * m0, m2 = m0 + c * m1, m3 = 2 * m1 + c * m2;
    return equal_moments(2, 0, sd_ * sd_ * m3 / m1 / 2);
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor r = at::hypot(x.select(1, 0), x.select(1, 1)), u = (r - radius_) / sd_;
    // The centre has no direction: its score is 0, as for every density with a cone there.
    const Tensor pull = at::where(r > 0, u / (r * -sd_), 0.0);
    return {.log_prob = u.square() * -0.5, .score = x * pull.unsqueeze(1)};
  }

  double radius_, sd_;
};

[[maybe_unused]] const bool registered =
    register_target("ring",
                    config::Schema<Options>("ring in the plane: the distance from the centre is about N(radius, sd^2)")
                        .key("radius", &Options::radius, {.doc = "radius", .min = 0})
                        .key("sd", &Options::sd, {.doc = "half width", .min = 0, .open_min = true})
                        .main("radius"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Ring>(o); });

}  // namespace
}  // namespace gaussflow
