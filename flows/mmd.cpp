/// MMD gradient flow (Arbel, Korba, Salim & Gretton 2019): particles descend ½ MMD² to the target's samples.
///
///     dx_i/dt = −∇f(x_i),   f = Σ_j a_j Φ(·, x_j) − Σ_j b_j Φ(·, y_j)
///
/// ½ MMD² has dF/dx_i = a_i ∇f(x_i): the flow is scaled per particle, so its speed does not depend on n or a.
/// Annealing lets τ grow from a wide kernel to a narrow one. Noise injection evaluates ∇f at x + β_k ξ and applies it at x; it widens the bandwidth at random.

#include "gaussflow/kernel/mmd.hpp"

#include "gaussflow/flow/flow.hpp"

#include <ATen/ATen.h>

#include <cmath>

namespace gaussflow {

namespace {

enum class NoiseSchedule { constant, inverse_sqrt, linear, adaptive };

struct NoiseOptions {
  double size = 0;
  NoiseSchedule schedule = NoiseSchedule::constant;
  std::int64_t k0 = 100;
  std::int64_t patience = 50;
};

/// Factors on the kernel's own τ; equal ones: no annealing.
struct AnnealOptions {
  double from = 1;
  double to = 1;
  double share = 0.6;
};

struct MmdOptions {
  Gradient gradient = Gradient::eq8;
  NoiseOptions noise;
  AnnealOptions anneal;
};

class MmdFlow : public Flow {
 public:
  explicit MmdFlow(const MmdOptions& options) : options_(options) {}

  FlowTraits traits() const override { return {.needs_samples = true, .pooled_bandwidth = true, .method = Method::euler}; }

  Tensor velocity(const Tensor& at, const State& keys, const FlowContext& context) const override {
    const Cloud y = context.target.samples(context.draw(Stream::batch), keys.x.scalar_type());
    const SignedMeasure sigma = signed_measure(keys.x, y.points, weights(keys), y.weights);
    Tensor queries = at;
    if (const double beta = noise_size(keys, context); beta > 0)
      queries = at + beta * normal(context.draw(Stream::noise), at.size(0), at.size(1)).to(at.options());
    return context.kernel.field(queries, sigma.points, sigma.weights, options_.gradient).gradient.neg();
  }

  std::optional<double> energy(const State& state, const FlowContext& context) const override {
    const Cloud y = context.target.all_samples(state.x.scalar_type());
    return mmd_squared(state.x, y.points, weights(state), y.weights, context.kernel.options()) / 2;
  }

  /// F falls for every step below 1.383/τ; 1/τ guarantees a decrease of 0.277/τ · Σ a|∇f|².
  std::optional<double> safe_step(double tau) const override { return 1 / tau; }

  void refresh(State& state, const FlowContext& context) const override {
    anneal(state, context);
    adapt_noise(state, context);
  }

 private:
  /// τ_k = τ from (to/from)^min(1, k/(share K)): a wide kernel first finds the targets, a narrow one then their shape.
  void anneal(State& state, const FlowContext& context) const {
    const AnnealOptions& o = options_.anneal;
    if (o.from == o.to) return;
    Tensor& base = state.slots["anneal_base"];
    if (!base.defined()) base = at::scalar_tensor(context.kernel.tau(), at::kDouble);
    const double progress =
        std::min(1.0, static_cast<double>(context.step) / (o.share * static_cast<double>(context.horizon)));
    state.slots["tau"] = base * o.from * std::pow(o.to / o.from, progress);
  }

  /// Adaptive noise: β halves whenever F has not fallen by 1 % over `patience` steps.
  void adapt_noise(State& state, const FlowContext& context) const {
    if (options_.noise.schedule != NoiseSchedule::adaptive || options_.noise.size == 0) return;
    if (state.step % options_.noise.patience != 0) return;
    const double now = *energy(state, context);
    Tensor& last = state.slots["noise_energy"];
    Tensor& beta = state.slots["noise_size"];
    if (!beta.defined())
      beta = at::scalar_tensor(options_.noise.size, at::kDouble);
    else if (now > 0.99 * last.item<double>())
      beta = beta / 2;
    last = at::scalar_tensor(now, at::kDouble);
  }

  double noise_size(const State& state, const FlowContext& context) const {
    const NoiseOptions& noise = options_.noise;
    const auto k = static_cast<double>(context.step);
    switch (noise.schedule) {
      case NoiseSchedule::constant:
        return noise.size;
      case NoiseSchedule::inverse_sqrt:
        return noise.size / std::sqrt(1 + k / static_cast<double>(noise.k0));
      case NoiseSchedule::linear:
        return noise.size * std::max(0.0, 1 - k / (0.8 * static_cast<double>(context.horizon)));
      case NoiseSchedule::adaptive:
        return noise.size == 0 ? 0 : state.slots.at("noise_size").item<double>();
    }
    return 0;
  }

  MmdOptions options_;
};

}  // namespace

template <>
struct config::Names<Gradient> {
  static std::vector<std::pair<std::string, Gradient>> list() {
    return {{"eq8", Gradient::eq8}, {"autograd", Gradient::autograd}};
  }
};
template <>
struct config::Names<NoiseSchedule> {
  static std::vector<std::pair<std::string, NoiseSchedule>> list() {
    return {{"constant", NoiseSchedule::constant},
            {"inverse_sqrt", NoiseSchedule::inverse_sqrt},
            {"linear", NoiseSchedule::linear},
            {"adaptive", NoiseSchedule::adaptive}};
  }
};

namespace {

const auto noise_schema =
    config::Schema<NoiseOptions>("noise injection")
        .key("size", &NoiseOptions::size,
             {.doc = "standard deviation β of the noise on the queries; 0: none", .unit = "kernel coordinates", .min = 0})
        .key("schedule", &NoiseOptions::schedule,
             {.doc = "how β falls: inverse_sqrt: β/√(1+k/k0); linear: to 0 at 80 % of the horizon; adaptive: halves when "
                     "the energy stalls"})
        .key("k0", &NoiseOptions::k0, {.doc = "inverse_sqrt: steps until β has fallen by √2", .min = 1})
        .key("patience", &NoiseOptions::patience,
             {.doc = "adaptive: steps over which the energy must fall by 1 %", .min = 1})
        .check([](const NoiseOptions& noise, const config::Node& map, config::Diagnostics& diagnostics) {
          const auto warn = [&](const char* key, auto member, const std::string& reason) {
            warn_if_idle(noise, member, map, key, reason, diagnostics);
          };
          const bool none = noise.size == 0;
          const std::string off = "size is 0, there is no noise";
          if (none) warn("schedule", &NoiseOptions::schedule, off);
          if (none || noise.schedule != NoiseSchedule::inverse_sqrt)
            warn("k0", &NoiseOptions::k0, none ? off : "it is for schedule inverse_sqrt");
          if (none || noise.schedule != NoiseSchedule::adaptive)
            warn("patience", &NoiseOptions::patience, none ? off : "it is for schedule adaptive");
        })
        .main("size");

const auto anneal_schema =
    config::Schema<AnnealOptions>("bandwidth annealing")
        .key("from", &AnnealOptions::from, {.doc = "factor on the kernel's τ at the start", .min = 0, .open_min = true})
        .key("to", &AnnealOptions::to,
             {.doc = "factor on the kernel's τ at the end; equal to from: no annealing", .min = 0, .open_min = true})
        .key("share", &AnnealOptions::share,
             {.doc = "share of the horizon over which τ moves", .min = 0, .max = 1, .open_min = true})
        .check([](const AnnealOptions& anneal, const config::Node& map, config::Diagnostics& diagnostics) {
          if (anneal.from != anneal.to) return;
          const std::string equal = "from and to are equal, tau is the kernel's own throughout";
          for (const auto& [key, member] : {std::pair{"from", &AnnealOptions::from}, std::pair{"to", &AnnealOptions::to},
                                            std::pair{"share", &AnnealOptions::share}})
            warn_if_idle(anneal, member, map, key, equal, diagnostics);
        })
        .main("to");

[[maybe_unused]] const bool registered = register_flow<MmdOptions>(
    "mmd",
    config::Schema<MmdOptions>("MMD gradient flow onto samples (Arbel et al. 2019)")
        .key("gradient", &MmdOptions::gradient, {.doc = "∇f by eq. 8 (one sum) or by autograd through reweight"})
        .section("noise", &MmdOptions::noise, noise_schema,
                 {.doc = "noise injection, the published remedy against local minima"})
        .section("anneal", &MmdOptions::anneal, anneal_schema,
                 {.doc = "bandwidth annealing, the remedy that works for far starts"}),
    [](const MmdOptions& options) { return std::make_unique<MmdFlow>(options); });

}  // namespace

}  // namespace gaussflow
