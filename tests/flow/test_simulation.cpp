#include "gaussflow/core/error.hpp"
#include "gaussflow/flow/simulation.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <memory>

using namespace gaussflow;

namespace {

template <class Plugin, class... Context>
auto make(const std::string& name, const std::string& keys, Context&&... context) {
  config::Diagnostics diagnostics;
  const auto chosen = Registry<Plugin>::instance().find(name)->read(config::parse_yaml(keys, "test", "."), diagnostics);
  diagnostics.throw_if_any();
  return chosen.make(std::forward<Context>(context)...);
}

std::unique_ptr<Target> target(const std::string& name, const std::string& keys) {
  return make<TargetPlugin>(name, keys, TargetContext{1});
}
std::unique_ptr<Flow> flow(const std::string& name, const std::string& keys) { return make<FlowPlugin>(name, keys); }

State start(std::int64_t n, std::int64_t d, const Tensor& scale = {}) {
  State state;
  state.x = normal({3, Stream::start, 0}, n, d);
  if (scale.defined()) state.x = state.x * scale;
  return state;
}

void ignore(const Note&) {}

/// log p = ln(x) − x: the law's domain is x > 0, but 1/x − 1 is finite beyond it. At 0 < x < 0.5 the law is cut off; beyond
/// 4 it is +inf, as a formula that overflows.
class HalfLine : public Target {
 public:
  std::int64_t dim() const override { return 1; }
  bool has_density() const override { return true; }
  Density density(const Tensor& x, const Draw&) const override {
    const Tensor log_prob = (x.log() - x).squeeze(1);
    const Tensor cut = at::logical_and(x > 0, x < 0.5).squeeze(1);
    const Tensor held = at::where(x.squeeze(1) > 4, at::full_like(log_prob, INFINITY), log_prob);
    return {at::where(cut, at::full_like(log_prob, -INFINITY), held), x.reciprocal() - 1};
  }
  TargetRecord record() const override { return {"half line", "", {}}; }
};

}  // namespace

TEST_CASE("a whitened run is the plain run in rescaled coordinates") {
  const Tensor scale = tensor_from({1e-2, 1.0, 1e2});
  const auto narrow = target("gaussian", "{mean: [0, 0, 0], sd: [0.01, 1, 100]}");
  const auto unit = target("gaussian", "{mean: [0, 0, 0], sd: [1, 1, 1]}");
  const auto svgd = flow("svgd", "{precondition: diag}");
  Simulation a({.step = {.count = 40}, .seed = 1}, *svgd, *narrow, start(30, 3, scale), ignore);
  Simulation b({.step = {.count = 40}, .seed = 1}, *svgd, *unit, start(30, 3), ignore);
  for (int k = 0; k < 40; ++k) {
    a.step();
    b.step();
  }
  CHECK(at::allclose(a.state().x / scale, b.state().x, 1e-9, 1e-9));
  CHECK(at::allclose(a.kernel_state().x, b.kernel_state().x, 1e-9, 1e-9));
}

TEST_CASE("all evaluations within a step share noise and minibatch") {
  const auto cloud = target("samples", "{file: " GAUSSFLOW_SOURCE_DIR "/data/two_moons.h5:/x, batch: 50}");
  const auto mmd = flow("mmd", "{noise: 0.5}");
  Simulation simulation({.kernel = {.tau = 2.0}, .step = {.count = 10}, .seed = 1}, *mmd, *cloud, start(40, 2), ignore);
  const auto velocity = [&] {
    Tensor v;
    simulation.with_context([&](const FlowContext& context) {
      const State state = simulation.kernel_state();
      v = mmd->velocity(state.x, state, context);
      CHECK(at::equal(v, mmd->velocity(state.x, state, context)));
    });
    return v;
  };
  const Tensor first = velocity();
  simulation.step();
  CHECK_FALSE(at::allclose(first, velocity()));
}

TEST_CASE("a step that fails leaves the state of the last finished one") {
  const auto quartic = target("quartic", "{dim: 1}");
  const auto svgd = flow("svgd", "{precondition: none}");
  State state;
  state.x = tensor_from({1000, 0.5, -0.5, 2}, 4, 1);
  Simulation simulation({.kernel = {.tau = 1.0}, .step = {.count = 100, .method = Method::euler, .size = 0.1}, .seed = 1},
                        *svgd, *quartic, state, ignore);
  std::string message;
  std::int64_t finished = 0;
  try {
    for (; finished < 100; ++finished) simulation.step();
  } catch (const NumericalError& error) {
    message = error.what();
  }
  CHECK(message.find("particle 0") != std::string::npos);
  CHECK(message.find("step " + std::to_string(finished + 1)) != std::string::npos);
  CHECK(simulation.state().step == finished);
  CHECK(at::isfinite(simulation.state().x).all().item<bool>());
}

TEST_CASE("a log p that is NaN or +inf stops the run, whatever its score is; outside the support it is -inf") {
  const HalfLine law;
  const auto svgd = flow("svgd", "{precondition: none}");
  const auto step = [&](const std::vector<double>& x) {
    State state;
    state.x = tensor_from(x, static_cast<std::int64_t>(x.size()), 1);
    Simulation simulation({.kernel = {.tau = 1.0}, .step = {.count = 1}, .seed = 1}, *svgd, law, state, ignore);
    simulation.step();
  };
  const auto refusal = [&](const std::vector<double>& x) -> std::string {
    try {
      step(x);
    } catch (const NumericalError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal({1, 0.25, 2}) == "");
  CHECK(refusal({1, 0.25, -2, 3, -1}) == "step 1: log p of particle 2 is nan (2 such in all)");
  CHECK(refusal({1, 5, 0.25}) == "step 1: log p of particle 1 is inf (1 such in all)");
}

TEST_CASE("flow and target must fit") {
  const auto density = target("flat", "{dim: 2}");
  const auto cloud = target("samples", "{file: " GAUSSFLOW_SOURCE_DIR "/data/two_moons.h5:/x}");
  CHECK_THROWS_AS(Simulation({}, *flow("mmd", "{}"), *density, start(5, 2), ignore), ConfigError);
  CHECK_THROWS_AS(Simulation({}, *flow("svgd", "{}"), *cloud, start(5, 2), ignore), ConfigError);
  CHECK_THROWS_AS(Simulation({}, *flow("svgd", "{}"), *density, start(5, 3), ignore), InputError);
}

TEST_CASE("one particle and equal particles have a bandwidth all the same, and the user is told") {
  const auto normal_law = target("gaussian", "{mean: [0], sd: [1]}");
  const auto svgd = flow("svgd", "{precondition: none}");
  State state;
  state.x = tensor_from({3}, 1, 1);
  std::vector<std::string> notes;
  Simulation simulation({.step = {.count = 1, .method = Method::euler, .size = 0.25}, .seed = 1}, *svgd, *normal_law, state,
                        [&](const Note& note) { notes.push_back(note.text); });
  CHECK(simulation.tau() == 1);
  CHECK(notes.size() == 1);
  simulation.step();
  CHECK(simulation.state().x.item<double>() == 3 - 3 * 0.25);
}
