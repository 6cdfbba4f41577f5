#include "gaussflow/target/formula.hpp"
#include "gaussflow/target/normal.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussflow {
namespace {

struct Options {
  std::vector<double> mean;
  std::vector<double> sd;
  std::vector<std::vector<double>> cov;

  std::size_t dim() const { return std::max({mean.size(), sd.size(), cov.size()}); }
};

void check(const Options& o, const config::Node& node, config::Diagnostics& diagnostics) {
  const auto report = [&](const char* key, const std::string& what) {
    diagnostics.error(node.at(key), diagnostics.path(key) + " " + what);
  };
  if (o.dim() == 0) return diagnostics.error(node.mark, diagnostics.path() + " needs mean, sd or cov to know its dimension");
  if (!o.mean.empty() && o.mean.size() != o.dim())
    report("mean", fmt::format("has {} numbers, not {}", o.mean.size(), o.dim()));
  if (!o.sd.empty() && !o.cov.empty())
    return report("cov", "stands beside sd: give one of them, cov has the variances on its diagonal");
  if (!o.sd.empty() && o.sd.size() != o.dim()) report("sd", fmt::format("has {} numbers, not {}", o.sd.size(), o.dim()));
  const std::string fault = o.cov.empty() ? "" : covariance_fault(o.cov, o.dim());
  if (!fault.empty()) report("cov", fault);
}

Normal law(const Options& o) {
  const std::vector<double> mean = o.mean.empty() ? std::vector<double>(o.dim(), 0.0) : o.mean;
  if (!o.cov.empty()) return {mean, o.cov};
  return {mean, o.sd.empty() ? std::vector<double>(o.dim(), 1.0) : o.sd};
}

class Gaussian final : public Formula {
 public:
  explicit Gaussian(const Options& o) : Formula("gaussian", static_cast<std::int64_t>(o.dim())), law_(law(o)) {}
  std::optional<Moments> moments() const override { return {{.mean = law_.mean(), .sd = law_.variance().sqrt()}}; }

 private:
  Density evaluate(const Tensor& x) const override { return law_.density(x); }
  Normal law_;
};

[[maybe_unused]] const bool registered = register_target(
    "gaussian",
    config::Schema<Options>("normal law")
        .key("mean", &Options::mean, {.doc = "mean [D], default 0", .example = "[0, 0]"})
        .key("sd", &Options::sd,
             {.doc = "standard deviations [D] of independent coordinates, default 1", .min = 0, .open_min = true})
        .key("cov", &Options::cov, {.doc = "covariance [D, D] in place of sd"})
        .main("mean")
        .check(check),
    [](const Options& o, const TargetContext&) { return std::make_unique<Gaussian>(o); });

}  // namespace
}  // namespace gaussflow
