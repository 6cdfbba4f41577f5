#include "run/prepare.hpp"

#include "gaussflow/core/device.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace gaussflow::run {

Parts make_parts(const RunConfig& config) {
  set_threads(config.compute.threads);
  const c10::Device device = open_device(config.compute.device);
  return {device, config.target.make(TargetContext{static_cast<std::uint64_t>(config.seed)}), config.flow.make()};
}

State start_state(const RunConfig& config, const Parts& parts) {
  const auto dtype = config.particles.dtype == ParticleDtype::fp64 ? at::kDouble : at::kFloat;
  const Draw draw{static_cast<std::uint64_t>(config.seed), Stream::start, 0};
  State state;
  state.x =
      config.particles.init.make()->points(config.particles.count, *parts.target, draw).to(parts.device, dtype).contiguous();
  return state;
}

std::int64_t metrics_interval(const RunConfig& config) {
  return config.output.metrics.value_or(std::max<std::int64_t>(1, *config.step.horizon / 200));
}

std::int64_t trajectory_interval(const RunConfig& config, const Tensor& x) {
  if (config.output.trajectory) return *config.output.trajectory;
  return x.nbytes() > 4'000'000 ? 0 : std::max<std::int64_t>(1, *config.step.horizon / 20);
}

}  // namespace gaussflow::run
