#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 10;
  double rho = 0.9;
};

/// N(0, C) with C_ij = rho^|i−j|, by its innovations e_i = (x_i − rho x_{i−1}) / √(1 − rho²), e_1 = x_1: O(N D), no matrix.
class Ar1 final : public Formula {
 public:
  explicit Ar1(const Options& o) : Formula("ar1", o.dim), rho_(o.rho), innovation_(std::sqrt((1 - o.rho) * (1 + o.rho))) {}
  std::optional<Moments> moments() const override { return equal_moments(dim(), 0, 1); }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor first = x.select(1, 0);
    const Tensor e = (x.slice(1, 1) - rho_ * x.slice(1, 0, dim() - 1)) / innovation_;  // [N, D−1]
    const auto d = static_cast<double>(dim());
    const double log_norm = (d - 1) * std::log(innovation_) + 0.5 * d * std::log(2 * std::numbers::pi);
    Density result{.log_prob = (first.square() + e.square().sum(1)) * -0.5 - log_norm, .score = at::zeros_like(x)};
    result.score.select(1, 0).sub_(first);
    result.score.slice(1, 1).sub_(e / innovation_);
    result.score.slice(1, 0, dim() - 1).add_(e * (rho_ / innovation_));
    return result;
  }

  double rho_;
  double innovation_;
};

[[maybe_unused]] const bool registered =
    register_target("ar1",
                    config::Schema<Options>("stationary autoregression: covariance rho^|i-j|")
                        .key("dim", &Options::dim, {.doc = "dimension", .min = 1})
                        .key("rho", &Options::rho,
                             {.doc = "correlation of neighbours", .min = -1, .max = 1, .open_min = true, .open_max = true})
                        .main("dim"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Ar1>(o); });

}  // namespace
}  // namespace gaussflow
