#include "run/prepare.hpp"

#include "gaussflow/core/device.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/flow/precision.hpp"
#include "gaussflow/io/memory.hpp"
#include "gaussflow/io/sample_file.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace gaussflow::run {

Parts make_parts(const RunConfig& config) {
  set_threads(config.compute.threads);
  const c10::Device device = open_device(config.compute.device);
  return {device, config.target.make(TargetContext{static_cast<std::uint64_t>(config.seed)}), config.flow.make()};
}

namespace {

/// log of the weights [n] in `ref`, scaled to sum 1.
Tensor read_log_weights(const DataRef& ref, std::int64_t n) {
  const Tensor w = io::read_array(ref).to(at::kDouble);
  if (w.dim() != 1 || w.size(0) != n)
    throw InputError(fmt::format("{} has shape {} but there {} {}: one weight each is needed", ref.text(), shape_text(w),
                                 n == 1 ? "is" : "are", counted(n, "particle")));
  if ((w <= 0).any().item<bool>())
    throw InputError(fmt::format("{} holds a weight that is not > 0: leave such particles out", ref.text()));
  return (w / w.sum()).log();
}

/// A cloud that cannot fit is refused before it is drawn: the start in fp64, the state and its successor, a stepper's memory,
/// and the packed operands of a sum.
void check_memory(std::int64_t count, std::int64_t dim) {
  const double needed = 8.0 * 8.0 * static_cast<double>(count) * static_cast<double>(dim + 1);
  if (const auto available = static_cast<double>(io::available_memory()); needed > available)
    throw DeviceError(fmt::format("{} in {} need about {}, but {} of memory are free: fewer particles (particles.count)",
                                  counted(count, "particle"), counted(dim, "dimension"), bytes_text(needed),
                                  bytes_text(available)));
}

}  // namespace

State start_state(const RunConfig& config, const Parts& parts) {
  const auto dtype = config.particles.dtype == ParticleDtype::fp64 ? at::kDouble : at::kFloat;
  const Draw draw{static_cast<std::uint64_t>(config.seed), Stream::start, 0};
  if (config.particles.count) check_memory(*config.particles.count, parts.target->dim());
  State state;
  const Tensor start = config.particles.init.make()->points(config.particles.count, *parts.target, draw);
  check_precision(*parts.target, parts.flow->traits(), start, dtype);
  state.x = start.to(parts.device, dtype).contiguous();
  if (config.particles.weights) state.log_weights = read_log_weights(*config.particles.weights, state.x.size(0));
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
