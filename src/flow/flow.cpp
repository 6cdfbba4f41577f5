#include "gaussflow/flow/flow.hpp"

#include <ATen/ATen.h>

namespace gaussflow {

Tensor weights(const State& state) {
  const std::int64_t n = state.x.size(0);
  if (!state.log_weights.defined()) return at::full({n}, 1.0 / static_cast<double>(n), state.x.options());
  return state.log_weights.softmax(0).to(state.x.options());
}

}  // namespace gaussflow
