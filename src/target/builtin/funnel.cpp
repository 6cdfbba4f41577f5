#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 10;
  double sd = 3;
};

/// x₁ = v ~ N(0, sd²), x_i | v ~ N(0, e^v).                                                              [Neal 2003]
class Funnel final : public Formula {
 public:
  explicit Funnel(const Options& o) : Formula("funnel", o.dim), sd_(o.sd) {}
  std::optional<Moments> moments() const override {
    std::vector<double> variance(static_cast<std::size_t>(dim()), std::exp(sd_ * sd_ / 2));
    variance[0] = sd_ * sd_;
    return moments_from(std::vector<double>(variance.size(), 0.0), variance);
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const auto others = static_cast<double>(dim() - 1);
    const Tensor v = x.select(1, 0), half = at::exp(v / -2);
    // e^{-v/2} twice in place of e^{-v}: deep in the neck the latter overflows where z² e^{-v} does not.
    const Tensor z = x.slice(1, 1) * half.unsqueeze(1);
    const Tensor energy = z.square().sum(1);
    const double log_norm = std::log(sd_) + 0.5 * static_cast<double>(dim()) * std::log(2 * std::numbers::pi);
    Density result{.log_prob = -0.5 * ((v / sd_).square() + energy + others * v) - log_norm, .score = at::empty_like(x)};
    result.score.select(1, 0).copy_(0.5 * (energy - others) - v / (sd_ * sd_));
    result.score.slice(1, 1).copy_((z * half.unsqueeze(1)).neg_());
    return result;
  }

  double sd_;
};

[[maybe_unused]] const bool registered =
    register_target("funnel",
                    config::Schema<Options>("Neal's funnel: x1 ~ N(0, sd^2), the others ~ N(0, exp(x1))")
                        .key("dim", &Options::dim, {.doc = "dimension", .min = 2})
                        .key("sd", &Options::sd, {.doc = "standard deviation of x1", .min = 0, .open_min = true})
                        .main("dim"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Funnel>(o); });

}  // namespace
}  // namespace gaussflow
