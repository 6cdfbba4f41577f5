#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace gaussflow {
namespace {

struct Options {
  double a = 10;
  double b = 0.03;
};

/// x₁ ~ N(0, a²), x₂ | x₁ ~ N(b (x₁² − a²), 1).                                                    [Haario et al. 1999]
class Banana final : public Formula {
 public:
  explicit Banana(const Options& o) : Formula("banana", 2), a_(o.a), b_(o.b) {}
  std::optional<Moments> moments() const override {
    return moments_from({0, 0}, {a_ * a_, 1 + 2 * b_ * b_ * std::pow(a_, 4)});
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor x1 = x.select(1, 0), u = x1 / a_;
    const Tensor e = x.select(1, 1) - b_ * a_ * a_ * (u.square() - 1);
    return {.log_prob = (u.square() + e.square()) * -0.5 - (std::log(a_) + std::log(2 * std::numbers::pi)),
            .score = at::stack({2 * b_ * x1 * e - u / a_, -e}, 1)};
  }

  double a_, b_;
};

[[maybe_unused]] const bool registered =
    register_target("banana",
                    config::Schema<Options>("bent normal law: x1 ~ N(0, a^2), x2 ~ N(b (x1^2 - a^2), 1)")
                        .key("a", &Options::a, {.doc = "standard deviation of x1", .min = 0, .open_min = true})
                        .key("b", &Options::b, {.doc = "how strongly it is bent"}),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Banana>(o); });

}  // namespace
}  // namespace gaussflow
