#pragma once
/// Where particles start: `particles.init`.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/target/target.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace gaussflow {

class Start {
 public:
  virtual ~Start() = default;
  /// [N, D] fp64; `count` is what particles.count says, empty when it is left to the start.
  /// Throws InputError when a file does not fit the target's dimension or the count.
  virtual Tensor points(std::optional<std::int64_t> count, const Target& target, const Draw& draw) const = 0;
};

using StartPlugin = config::Plugin<Start>;
using ChosenStart = config::Chosen<Start>;

/// default, normal, uniform, samples, file, run.
const std::map<std::string, StartPlugin>& starts();

/// What particles.init means when it is left out.
ChosenStart default_start();

}  // namespace gaussflow
