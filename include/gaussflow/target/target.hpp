#pragma once
/// What particles are moved towards: a density with a score, a cloud of samples, or both.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/core/registry.hpp"
#include "gaussflow/core/state.hpp"
#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow {

/// log p up to a constant and its gradient.
struct Density {
  Tensor log_prob;  ///< [N]
  Tensor score;     ///< [N, D]
};

/// A weighted cloud.
struct Cloud {
  Tensor points;   ///< [M, D]
  Tensor weights;  ///< [M], sum 1
};

/// Means and standard deviations per coordinate, where they are known.
struct Moments {
  Tensor mean;  ///< [D] fp64
  Tensor sd;    ///< [D] fp64
};

class Target {
 public:
  virtual ~Target() = default;

  virtual std::int64_t dim() const = 0;
  virtual bool has_density() const { return false; }
  virtual bool has_samples() const { return false; }

  /// log p and score at x [N, D], in x's dtype. `draw` keys a minibatch: all evaluations within one step use the same.
  /// Throws UsageError when the target has no density.
  virtual Density density(const Tensor& x, const Draw& draw) const;

  /// The samples to be matched in step `draw.step` (all, or a minibatch), in `dtype`. Throws UsageError when there are none.
  virtual Cloud samples(const Draw& draw, at::ScalarType dtype) const;

  /// All samples, for diagnostics; as `samples` without minibatches.
  virtual Cloud all_samples(at::ScalarType dtype) const;

  /// Exact or empirical moments in the coordinates of the particles, the default start.
  virtual std::optional<Moments> moments() const { return std::nullopt; }

  /// Are distances to be measured in units of `moments().sd`?
  virtual bool standardize() const { return false; }

  /// Moments to be shown beside the result, hence after constrain: exact, or of an independent reference run (`reference:`).
  virtual std::optional<Moments> reference() const { return moments(); }

  /// Particles on the scale the user thinks in.
  virtual Tensor constrain(const Tensor& x) const { return x; }
  /// Names of the coordinates after constrain: x1, x2 … unless the target knows better.
  virtual std::vector<std::string> names() const;

  /// What a reader of the result's table must know to read it: the units that its numbers are in. Empty: nothing.
  virtual std::string caption() const { return ""; }

  /// What was noticed while loading and is worth telling: a transposed reading, a constant column.
  virtual std::vector<std::string> notes() const { return {}; }

  virtual TargetRecord record() const = 0;
};

/// What a target may need to be built beside its options.
struct TargetContext {
  std::uint64_t seed = 0;
};

using TargetPlugin = config::Plugin<Target, const TargetContext&>;
using ChosenTarget = config::Chosen<Target, const TargetContext&>;

/// Registers a target under `name`; the factory is unique_ptr<Target>(const Options&, const TargetContext&).
template <class Options, class Factory>
bool register_target(const std::string& name, config::Schema<Options> schema, Factory factory) {
  return Registry<TargetPlugin>::instance().add(
      name, config::make_plugin<Target, const TargetContext&>(name, std::move(schema), std::move(factory)));
}

}  // namespace gaussflow
