#pragma once
/// Time steppers: each turns a velocity field into one displacement. They work on any flow.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/state.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace gaussflow {

enum class Method { euler, momentum, nesterov, heun, rk4, adagrad, rmsprop, adam };
enum class Schedule {
  constant,
  decay,         ///< divided by 5 at 73 % and by 25 at 90 % of the horizon
  linear,        ///< falls linearly to 1 % at the horizon
  cosine,        ///< falls to 1 % at the horizon along a half cosine
  inverse_sqrt,  ///< 1/√(1 + 10 k/horizon)
};

/// The `step` section.
struct StepOptions {
  std::int64_t count = 1000;
  std::optional<Method> method;
  std::optional<double> size;
  std::optional<Schedule> schedule;
  std::optional<std::int64_t> horizon;
  double mu = 0.8;       ///< momentum
  bool restart = true;   ///< momentum, nesterov
  double rho = 0.9;      ///< rmsprop: weight of the running mean of squares
  double beta1 = 0.9;    ///< adam
  double beta2 = 0.999;  ///< adam
  std::optional<double> epsilon;
};
const config::Schema<StepOptions>& step_schema();

/// Warns of keys in `map` (the section as written) that are for other steppers than `method`.
void warn_of_other_steppers(const StepOptions& options, Method method, const config::Node& map,
                            config::Diagnostics& diagnostics);

/// What a step may ask for. `velocity` sees the whole cloud moved to y (its sources too); all evaluations within one step
/// share minibatch and noise. `energy` is the flow's functional at y, empty when it has none.
struct StepField {
  std::function<Tensor(const Tensor& y)> velocity;
  std::function<std::optional<double>(const Tensor& y)> energy;
};

class Stepper {
 public:
  virtual ~Stepper() = default;
  /// The displacement of y [N, D] in one step of length `size`. `slots` carries what the next step must know.
  virtual Tensor displacement(const Tensor& y, const StepField& field, double size, Slots& slots) const = 0;
};

std::unique_ptr<Stepper> make_stepper(Method method, const StepOptions& options);

/// Factor on the step size for step k of `horizon`; constant beyond the horizon.
double schedule_factor(Schedule schedule, std::int64_t step, std::int64_t horizon);

}  // namespace gaussflow

namespace gaussflow::config {
template <>
struct Names<Method> {
  static std::vector<std::pair<std::string, Method>> list();
};
template <>
struct Names<Schedule> {
  static std::vector<std::pair<std::string, Schedule>> list();
};
}  // namespace gaussflow::config
