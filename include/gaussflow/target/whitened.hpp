#pragma once
/// A target seen in rescaled coordinates.

#include "gaussflow/target/constant.hpp"
#include "gaussflow/target/target.hpp"

namespace gaussflow {

/// `inner` in the coordinates y = x / scale: score_y = scale · score_x, samples and moments divided by scale. log_prob lacks
/// the constant Σ log scale. constrain, names and reference remain on the scale of the user.
class WhitenedTarget final : public Target {
 public:
  /// `inner` must outlive this.   Shapes  scale [D], finite and > 0.   Throws  ShapeError, NumericalError.
  WhitenedTarget(const Target& inner, const Tensor& scale);

  std::int64_t dim() const override { return inner_.dim(); }
  bool has_density() const override { return inner_.has_density(); }
  bool has_samples() const override { return inner_.has_samples(); }
  Density density(const Tensor& y, const Draw& draw) const override;
  Cloud samples(const Draw& draw, at::ScalarType dtype) const override;
  Cloud all_samples(at::ScalarType dtype) const override;
  std::optional<Moments> moments() const override;
  std::optional<Moments> reference() const override { return inner_.reference(); }
  Tensor constrain(const Tensor& y) const override;
  std::vector<std::string> names() const override { return inner_.names(); }
  std::string caption() const override { return inner_.caption(); }
  std::vector<std::string> notes() const override { return inner_.notes(); }
  TargetRecord record() const override { return inner_.record(); }

 private:
  const Target& inner_;
  Constant scale_;
};

}  // namespace gaussflow
