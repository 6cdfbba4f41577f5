#include "gaussflow/flow/stepper.hpp"

#include "gaussflow/core/text.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

namespace gaussflow {

namespace {

Tensor& slot_or_zeros(Slots& slots, const std::string& name, const Tensor& like) {
  Tensor& slot = slots[name];
  if (!slot.defined()) slot = at::zeros_like(like);
  return slot;
}

double scalar_or(const Slots& slots, const std::string& name, double otherwise) {
  const auto it = slots.find(name);
  return it == slots.end() ? otherwise : it->second.item<double>();
}

void set_scalar(Slots& slots, const std::string& name, double value) { slots[name] = at::scalar_tensor(value, at::kDouble); }

/// True when the energy rose since the last call: accelerated methods then start again (O'Donoghue & Candès 2015).
bool energy_rose(const Tensor& y, const StepField& field, Slots& slots) {
  const std::optional<double> energy = field.energy(y);
  if (!energy) return false;
  const bool rose = *energy > scalar_or(slots, "last_energy", INFINITY);
  set_scalar(slots, "last_energy", *energy);
  return rose;
}

class Euler : public Stepper {
 public:
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots&) const override {
    return field.velocity(y) * size;
  }
};

/// Explicit trapezoid rule, order 2.
class Heun : public Stepper {
 public:
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots&) const override {
    const Tensor k1 = field.velocity(y);
    const Tensor k2 = field.velocity(y + size * k1);
    return (k1 + k2) * (size / 2);
  }
};

/// The classical Runge-Kutta method, order 4.
class RungeKutta4 : public Stepper {
 public:
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots&) const override {
    const Tensor k1 = field.velocity(y);
    const Tensor k2 = field.velocity(y + (size / 2) * k1);
    const Tensor k3 = field.velocity(y + (size / 2) * k2);
    const Tensor k4 = field.velocity(y + size * k3);
    return (k1 + 2 * k2 + 2 * k3 + k4) * (size / 6);
  }
};

/// Heavy ball: w ← μ w + g u(y), y ← y + w; with restart w ← 0 whenever the energy rose.
class Momentum : public Stepper {
 public:
  explicit Momentum(const StepOptions& options) : mu_(options.mu), restart_(options.restart) {}
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const override {
    Tensor& w = slot_or_zeros(slots, "momentum", y);
    if (restart_ && energy_rose(y, field, slots)) w = at::zeros_like(w);
    w = mu_ * w + size * field.velocity(y);
    return w;
  }

 private:
  double mu_;
  bool restart_;
};

/// Nesterov's method in convex form: z = y + (k−1)/(k+2) (y − y_prev), y ← z + g u(z); k counts from 1 after each restart.
class Nesterov : public Stepper {
 public:
  explicit Nesterov(const StepOptions& options) : restart_(options.restart) {}
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const override {
    double k = scalar_or(slots, "nesterov_k", 1);
    if (restart_ && energy_rose(y, field, slots)) k = 1;
    Tensor& last = slot_or_zeros(slots, "last_displacement", y);
    const Tensor ahead = last * ((k - 1) / (k + 2));
    last = ahead + size * field.velocity(y + ahead);
    set_scalar(slots, "nesterov_k", k + 1);
    return last;
  }

 private:
  bool restart_;
};

/// AdaGrad (Duchi et al. 2011): h ← h + u², y ← y + g u/(ε + √h).
class Adagrad : public Stepper {
 public:
  explicit Adagrad(const StepOptions& options) : epsilon_(options.epsilon.value_or(1e-6)) {}
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const override {
    const Tensor u = field.velocity(y);
    Tensor& h = slot_or_zeros(slots, "squares", y);
    h = h + u * u;
    return size * u / (epsilon_ + h.sqrt());
  }

 private:
  double epsilon_;
};

/// The original SVGD program's update: h = u² in the first step, then h ← ρ h + (1−ρ) u²; y ← y + g u/(ε + √h).
class RmsProp : public Stepper {
 public:
  explicit RmsProp(const StepOptions& options) : rho_(options.rho), epsilon_(options.epsilon.value_or(1e-6)) {}
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const override {
    const Tensor u = field.velocity(y);
    Tensor& h = slots["squares"];
    h = h.defined() ? rho_ * h + (1 - rho_) * (u * u) : u * u;
    return size * u / (epsilon_ + h.sqrt());
  }

 private:
  double rho_;
  double epsilon_;
};

/// Adam (Kingma & Ba 2015), bias-corrected.
class Adam : public Stepper {
 public:
  explicit Adam(const StepOptions& options)
      : beta1_(options.beta1), beta2_(options.beta2), epsilon_(options.epsilon.value_or(1e-8)) {}
  Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const override {
    const Tensor u = field.velocity(y);
    const double t = scalar_or(slots, "adam_t", 0) + 1;
    set_scalar(slots, "adam_t", t);
    Tensor& m = slot_or_zeros(slots, "mean", y);
    Tensor& h = slot_or_zeros(slots, "squares", y);
    m = beta1_ * m + (1 - beta1_) * u;
    h = beta2_ * h + (1 - beta2_) * (u * u);
    const Tensor m_hat = m / (1 - std::pow(beta1_, t));
    const Tensor h_hat = h / (1 - std::pow(beta2_, t));
    return size * m_hat / (h_hat.sqrt() + epsilon_);
  }

 private:
  double beta1_;
  double beta2_;
  double epsilon_;
};

}  // namespace

const config::Schema<StepOptions>& step_schema() {
  using config::Resume;
  static const auto schema =
      config::Schema<StepOptions>("how many steps, how long, by which method")
          .key("count", &StepOptions::count,
               {.doc = "total number of steps, a resumed run's included", .min = 0, .max = 1e12, .resume = Resume::free})
          .key("method", &StepOptions::method, {.doc = "the stepper; auto: the flow's own choice"})
          .key("size", &StepOptions::size,
               {.doc = "step size; auto: the flow's own choice (mmd: 1/τ, the largest that is sure to descend)",
                .min = 0,
                .open_min = true})
          .key("schedule", &StepOptions::schedule,
               {.doc = "how the size falls along the horizon; auto: the flow's own choice"})
          .key("horizon", &StepOptions::horizon,
               {.doc = "number of steps the schedules are planned for; auto: the first count", .min = 1})
          .key("mu", &StepOptions::mu,
               {.doc = "momentum: share of the last displacement that is kept", .min = 0, .max = 1, .open_max = true})
          .key("restart", &StepOptions::restart, {.doc = "momentum, nesterov: start again whenever the energy rose"})
          .key("rho", &StepOptions::rho,
               {.doc = "rmsprop: share of the old mean of squares", .min = 0, .max = 1, .open_max = true})
          .key("beta1", &StepOptions::beta1, {.doc = "adam: decay of the mean", .min = 0, .max = 1, .open_max = true})
          .key("beta2", &StepOptions::beta2,
               {.doc = "adam: decay of the mean of squares", .min = 0, .max = 1, .open_max = true})
          .key("epsilon", &StepOptions::epsilon,
               {.doc = "adagrad, rmsprop (auto: 1e-6), adam (auto: 1e-8): added to the root", .min = 0})
          .main("count");
  return schema;
}

void warn_of_other_steppers(const StepOptions& options, Method method, const config::Node& map,
                            config::Diagnostics& diagnostics) {
  const auto only_for = [&](const char* key, auto member, const std::vector<Method>& methods) {
    if (std::find(methods.begin(), methods.end(), method) != methods.end()) return;
    std::vector<std::string> names;
    for (const Method m : methods) names.push_back(config::name_of(m));
    warn_if_idle(options, member, map, key,
                 fmt::format("it is for step.method {}, here it is {}", either(names), config::name_of(method)),
                 diagnostics);
  };
  using enum Method;
  only_for("mu", &StepOptions::mu, {momentum});
  only_for("restart", &StepOptions::restart, {momentum, nesterov});
  only_for("rho", &StepOptions::rho, {rmsprop});
  only_for("beta1", &StepOptions::beta1, {adam});
  only_for("beta2", &StepOptions::beta2, {adam});
  only_for("epsilon", &StepOptions::epsilon, {adagrad, rmsprop, adam});
}

std::unique_ptr<Stepper> make_stepper(Method method, const StepOptions& options) {
  switch (method) {
    case Method::euler:
      return std::make_unique<Euler>();
    case Method::momentum:
      return std::make_unique<Momentum>(options);
    case Method::nesterov:
      return std::make_unique<Nesterov>(options);
    case Method::heun:
      return std::make_unique<Heun>();
    case Method::rk4:
      return std::make_unique<RungeKutta4>();
    case Method::adagrad:
      return std::make_unique<Adagrad>(options);
    case Method::rmsprop:
      return std::make_unique<RmsProp>(options);
    case Method::adam:
      return std::make_unique<Adam>(options);
  }
  throw std::logic_error("unknown stepper");
}

double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t horizon) {
  const double t = horizon <= 0 ? 1 : std::min(1.0, static_cast<double>(step) / static_cast<double>(horizon));
  switch (schedule) {
    case Schedule::constant:
      return 1;
    case Schedule::decay:
      return t >= 0.9 ? 0.04 : t >= 0.73 ? 0.2 : 1;
    case Schedule::linear:
      return 1 - 0.99 * t;
    case Schedule::cosine:
      return 0.01 + 0.99 * (1 + std::cos(std::numbers::pi * t)) / 2;
    case Schedule::inverse_sqrt:
      return 1 / std::sqrt(1 + 10 * t);
  }
  throw std::logic_error("unknown schedule");
}

}  // namespace gaussflow

namespace gaussflow::config {

std::vector<std::pair<std::string, Method>> Names<Method>::list() {
  return {{"euler", Method::euler}, {"momentum", Method::momentum}, {"nesterov", Method::nesterov}, {"heun", Method::heun},
          {"rk4", Method::rk4},     {"adagrad", Method::adagrad},   {"rmsprop", Method::rmsprop},   {"adam", Method::adam}};
}

std::vector<std::pair<std::string, Schedule>> Names<Schedule>::list() {
  return {{"constant", Schedule::constant},
          {"decay", Schedule::decay},
          {"linear", Schedule::linear},
          {"cosine", Schedule::cosine},
          {"inverse_sqrt", Schedule::inverse_sqrt}};
}

}  // namespace gaussflow::config
