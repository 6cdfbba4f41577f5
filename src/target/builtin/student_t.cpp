#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 2;
  double nu = 5;
};

/// Multivariate Student t with nu degrees of freedom, location 0 and scale I.
class StudentT final : public Formula {
 public:
  explicit StudentT(const Options& o) : Formula("student_t", o.dim), nu_(o.nu) {
    const auto d = static_cast<double>(o.dim);
    log_norm_ = std::lgamma(nu_ / 2) - std::lgamma((nu_ + d) / 2) + 0.5 * d * std::log(nu_ * std::numbers::pi);
  }
  std::optional<Moments> moments() const override {
    if (nu_ <= 2) return std::nullopt;  // infinite variance
    return equal_moments(dim(), 0, nu_ / (nu_ - 2));
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor r2 = x.square().sum(1);
    const double power = nu_ + static_cast<double>(dim());
    return {.log_prob = at::log1p(r2 / nu_) * (-0.5 * power) - log_norm_, .score = x * (-power / (nu_ + r2)).unsqueeze(1)};
  }

  double nu_;
  double log_norm_;
};

[[maybe_unused]] const bool registered = register_target(
    "student_t",
    config::Schema<Options>("Student t with heavy tails")
        .key("dim", &Options::dim, {.doc = "dimension", .min = 1})
        .key("nu", &Options::nu, {.doc = "degrees of freedom; the variance is finite above 2", .min = 0, .open_min = true})
        .main("nu"),
    [](const Options& o, const TargetContext&) { return std::make_unique<StudentT>(o); });

}  // namespace
}  // namespace gaussflow
