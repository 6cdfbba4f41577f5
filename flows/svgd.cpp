/// Stein variational gradient descent (Liu & Wang 2016): the steepest descent of KL in the unit ball of the kernel's space.
///
///     φ(x) = Σ_j a_j [Φ(x_j, x) ∇log p(x_j) + ∇_{x_j} Φ(x_j, x)],   one Gauss sum with C = D+1 values
///
/// Distances are measured in units of the running particle sd unless `precondition: none`.

#include "gaussflow/flow/flow.hpp"

namespace gaussflow {

namespace {

enum class Precondition { none, diag };

struct SvgdOptions {
  Precondition precondition = Precondition::diag;
};

class Svgd : public Flow {
 public:
  explicit Svgd(const SvgdOptions& options) : options_(options) {}

  FlowTraits traits() const override {
    return {.needs_density = true,
            .whiten = options_.precondition == Precondition::diag,
            .method = Method::rmsprop,
            .size = 0.05,
            .schedule = Schedule::decay};
  }

  Tensor velocity(const Tensor& at, const State& keys, const FlowContext& context) const override {
    const Tensor score = context.target.density(keys.x, context.draw(Stream::batch)).score;
    return context.kernel.stein(at, keys.x, score, weights(keys));
  }

 private:
  SvgdOptions options_;
};

}  // namespace

template <>
struct config::Names<Precondition> {
  static std::vector<std::pair<std::string, Precondition>> list() {
    return {{"none", Precondition::none}, {"diag", Precondition::diag}};
  }
};

namespace {

[[maybe_unused]] const bool registered = register_flow<SvgdOptions>(
    "svgd",
    config::Schema<SvgdOptions>("Stein variational gradient descent onto a density (Liu & Wang 2016)")
        .key("precondition", &SvgdOptions::precondition,
             {.doc = "diag: whiten by the running particle sd; none: raw coordinates"}),
    [](const SvgdOptions& options) { return std::make_unique<Svgd>(options); });

}  // namespace

}  // namespace gaussflow
