#pragma once
/// Densities given by a formula: the frame that every closed-form target shares.

#include "gaussflow/target/target.hpp"

#include <optional>
#include <string>

namespace gaussflow {

/// A density on R^D whose config says all about it. Implement `evaluate` by hand: it runs in every step.
class Formula : public Target {
 public:
  Formula(std::string kind, std::int64_t dim) : kind_(std::move(kind)), dim_(dim) {}

  std::int64_t dim() const override { return dim_; }
  bool has_density() const override { return true; }
  Density density(const Tensor& x, const Draw& draw) const final;
  TargetRecord record() const override { return {.kind = kind_, .digest = "", .shape = {}}; }

 protected:
  /// log p and score at x [N, D], in x's dtype and on its device.
  virtual Density evaluate(const Tensor& x) const = 0;

 private:
  std::string kind_;
  std::int64_t dim_;
};

/// Throws  ShapeError unless x is [N, dim].
void check_particles(const std::string& kind, std::int64_t dim, const Tensor& x);

/// Moments that are the same in each of `dim` coordinates.
Moments equal_moments(std::int64_t dim, double mean, double variance);

/// Moments from means and variances.
Moments moments_from(const std::vector<double>& mean, const std::vector<double>& variance);

}  // namespace gaussflow
