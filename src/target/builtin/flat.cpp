#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>

namespace gaussflow {
namespace {

struct Options {
  std::int64_t dim = 2;
};

/// log p = 0 everywhere: shows what a flow does by itself.
class Flat final : public Formula {
 public:
  explicit Flat(const Options& o) : Formula("flat", o.dim) {}

 private:
  Density evaluate(const Tensor& x) const override {
    return {.log_prob = at::zeros({x.size(0)}, x.options()), .score = at::zeros_like(x)};
  }
};

[[maybe_unused]] const bool registered =
    register_target("flat",
                    config::Schema<Options>("no density: log p = 0, only the repulsion of the particles is left")
                        .key("dim", &Options::dim, {.doc = "dimension", .min = 1})
                        .main("dim"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<Flat>(o); });

}  // namespace
}  // namespace gaussflow
