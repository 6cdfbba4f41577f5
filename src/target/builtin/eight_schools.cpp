#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <array>
#include <cmath>

namespace gaussflow {
namespace {

struct Options {};

constexpr std::size_t schools = 8;
constexpr std::array<double, schools> effect{28, 8, -3, 7, -1, 1, 18, 12};
constexpr std::array<double, schools> error{15, 10, 16, 11, 9, 11, 10, 18};

/// Running mean and variance of one quantity whose conditional mean and second moment are known at each node.
struct Accumulated {
  double first = 0, second = 0;
  void add(double weight, double mean, double variance) {
    first += weight * mean;
    second += weight * (variance + mean * mean);
  }
  double variance() const { return second - first * first; }
};

/// Posterior moments of the particles' coordinates (mu, log tau, eta) and of the constrained ones (mu, tau, theta).
struct Posterior {
  Moments free;
  Moments constrained;
};

/// mu and eta are normal given tau and integrated exactly; the trapezoid rule does u = log tau, where the integrand is
/// analytic and falls off exponentially on both sides, so that it converges faster than any power of h.
Posterior integrate() {
  constexpr double from = -40, to = 12, h = 0.02;
  Accumulated mu, tau, log_tau;
  std::array<Accumulated, schools> eta, theta;
  double total = 0;
  for (int i = 0; i <= std::lround((to - from) / h); ++i) {
    const double u = from + h * i, t = std::exp(u);
    double precision = 1.0 / 25, weighted = 0, squares = 0, log_det = 0;
    for (std::size_t j = 0; j < schools; ++j) {
      const double v = error[j] * error[j] + t * t;
      precision += 1 / v;
      weighted += effect[j] / v;
      squares += effect[j] * effect[j] / v;
      log_det += std::log(v);
    }
    const double m = weighted / precision;
    const double w =
        std::exp(u - std::log1p(t * t / 25) - 0.5 * (log_det + std::log(precision) + squares - precision * m * m));
    total += w;
    mu.add(w, m, 1 / precision);
    tau.add(w, t, 0);
    log_tau.add(w, u, 0);
    for (std::size_t j = 0; j < schools; ++j) {
      const double s2 = error[j] * error[j], v = s2 + t * t, gain = t / v, shrink = s2 / v;
      eta[j].add(w, gain * (effect[j] - m), shrink + gain * gain / precision);
      theta[j].add(w, m * shrink + effect[j] * t * t / v, t * t * shrink + shrink * shrink / precision);
    }
  }
  std::vector<double> free_mean, free_variance, mean, variance;
  const auto put = [&](Accumulated a, std::vector<double>& means, std::vector<double>& variances) {
    a = {a.first / total, a.second / total};
    means.push_back(a.first);
    variances.push_back(a.variance());
  };
  put(mu, free_mean, free_variance);
  put(log_tau, free_mean, free_variance);
  put(mu, mean, variance);
  put(tau, mean, variance);
  for (std::size_t j = 0; j < schools; ++j) {
    put(eta[j], free_mean, free_variance);
    put(theta[j], mean, variance);
  }
  return {moments_from(free_mean, free_variance), moments_from(mean, variance)};
}

/// mu ~ N(0, 5²), tau ~ half-Cauchy(5), eta ~ N(0, I), y ~ N(mu + tau eta, sigma), on x = (mu, log tau, eta): the
/// non-centred form.
class EightSchools final : public Formula {
 public:
  EightSchools()
      : Formula("eight_schools", 2 + schools),
        effect_(tensor_from({effect.begin(), effect.end()})),
        error_(tensor_from({error.begin(), error.end()})),
        posterior_(integrate()) {}

  std::optional<Moments> moments() const override { return posterior_.free; }
  std::optional<Moments> reference() const override { return posterior_.constrained; }

  Tensor constrain(const Tensor& x) const override {
    const Tensor mu = x.slice(1, 0, 1), tau = x.slice(1, 1, 2).exp();
    return at::cat({mu, tau, mu + tau * x.slice(1, 2)}, 1);
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> result{"mu", "tau"};
    for (std::size_t j = 1; j <= schools; ++j) result.push_back(fmt::format("theta_{}", j));
    return result;
  }

 private:
  Density evaluate(const Tensor& x) const override {
    const Tensor mu = x.slice(1, 0, 1), log_tau = x.slice(1, 1, 2), eta = x.slice(1, 2);
    const Tensor tau = log_tau.exp(), error = error_.like(x);
    const Tensor z = (effect_.like(x) - mu - tau * eta) / error;  // standardised residuals
    const Tensor pull = z / error;
    const Tensor logit = 2 * (log_tau - std::log(5.0));  // of tau² / (25 + tau²): no overflow for large tau
    const Tensor prior = (mu / 5).square() * -0.5 + log_tau + at::log_sigmoid(-logit);
    return {.log_prob = prior.squeeze(1) - 0.5 * (eta.square().sum(1) + z.square().sum(1)),
            .score = at::cat({pull.sum(1, true) - mu / 25, 1 - 2 * at::sigmoid(logit) + tau * (pull * eta).sum(1, true),
                              tau * pull - eta},
                             1)};
  }

  Constant effect_, error_;
  Posterior posterior_;
};

[[maybe_unused]] const bool registered = register_target(
    "eight_schools", config::Schema<Options>("Rubin's eight schools, non-centred, with exact reference moments"),
    [](const Options&, const TargetContext&) { return std::make_unique<EightSchools>(); });

}  // namespace
}  // namespace gaussflow
