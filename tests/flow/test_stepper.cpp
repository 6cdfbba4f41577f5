#include "gaussflow/flow/stepper.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;

namespace {

/// dy/dt = −y from y = 1, with energy y²/2: every stepper's values can be worked out by hand.
const StepField decay{[](const Tensor& y) { return -y; },
                      [](const Tensor& y) { return std::optional<double>(0.5 * y.square().sum().item<double>()); }};

std::vector<double> run(Method method, const StepOptions& options, double size, int steps) {
  Tensor y = at::ones({1, 1}, at::kDouble);
  Slots slots;
  std::vector<double> values;
  const auto stepper = make_stepper(method, options);
  for (int k = 0; k < steps; ++k) {
    y = y + stepper->displacement(y, decay, size, slots);
    values.push_back(y.item<double>());
  }
  return values;
}

}  // namespace

TEST_CASE("steppers are their formulas on a linear field") {
  const double g = 0.1;
  CHECK(run(Method::euler, {}, g, 1)[0] == doctest::Approx(1 - g));
  CHECK(run(Method::heun, {}, g, 1)[0] == doctest::Approx(1 - g + g * g / 2));
  CHECK(run(Method::rk4, {}, g, 1)[0] == doctest::Approx(1 - g + g * g / 2 - g * g * g / 6 + g * g * g * g / 24));
  // w₁ = −g, y₁ = 1 − g; w₂ = μ w₁ − g y₁
  const auto momentum = run(Method::momentum, {.mu = 0.5, .restart = false}, g, 2);
  CHECK(momentum[1] == doctest::Approx(0.9 - 0.05 - 0.09));
  // first step has no memory; the second starts from y₁ + (1/4)(y₁ − y₀)
  const auto nesterov = run(Method::nesterov, {.restart = false}, g, 2);
  CHECK(nesterov[0] == doctest::Approx(0.9));
  CHECK(nesterov[1] == doctest::Approx((0.9 - 0.025) * 0.9));
  // adagrad: u = −1, h = 1; then u = −0.9, h = 1.81
  const auto adagrad = run(Method::adagrad, {.epsilon = 0.0}, g, 2);
  CHECK(adagrad[1] == doctest::Approx(0.9 - g * 0.9 / std::sqrt(1.81)));
  // rmsprop: h = 1, then 0.9 · 1 + 0.1 · 0.81
  const auto rmsprop = run(Method::rmsprop, {.epsilon = 0.0}, g, 2);
  CHECK(rmsprop[1] == doctest::Approx(0.9 - g * 0.9 / std::sqrt(0.981)));
  // adam: bias correction makes the first step exactly g
  CHECK(run(Method::adam, {.epsilon = 0.0}, g, 1)[0] == doctest::Approx(0.9));
}

TEST_CASE("momentum restarts when the energy rises, and only when asked to") {
  // μ near 1 overshoots y = 0 and the energy rises on the other side
  const auto peak = [](bool restart) {
    double largest = 0;
    for (const double y : run(Method::momentum, {.mu = 0.95, .restart = restart}, 0.05, 400))
      largest = std::max(largest, -y);
    return largest;
  };
  CHECK(peak(true) < 0.5 * peak(false));
}

TEST_CASE("schedules start at one and stay at their last value beyond the horizon") {
  for (const auto& [name, schedule] : config::Names<Schedule>::list()) {
    CAPTURE(name);
    CHECK(schedule_factor(schedule, 0, 100) == 1);
    CHECK(schedule_factor(schedule, 100, 100) == schedule_factor(schedule, 5000, 100));
    double last = 1;
    for (int k = 0; k <= 100; ++k) {
      CHECK(schedule_factor(schedule, k, 100) <= last);
      last = schedule_factor(schedule, k, 100);
    }
  }
  CHECK(schedule_factor(Schedule::decay, 73, 100) == 0.2);
  CHECK(schedule_factor(Schedule::decay, 90, 100) == 0.04);
}
