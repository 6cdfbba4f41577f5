// What a step of SVGD costs beside its bare sum: bandwidth, whitening, scores and update.
//
//   bench_step [N] [D] [repeats]

#include "gaussflow/core/random.hpp"
#include "gaussflow/flow/simulation.hpp"
#include "gaussflow/kernel/kernel.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

using namespace gaussflow;

namespace {

template <class Plugin, class... Context>
auto make(const std::string& name, const std::string& keys, Context&&... context) {
  config::Diagnostics diagnostics;
  const auto chosen = Registry<Plugin>::instance().find(name)->read(config::parse_yaml(keys, "bench", "."), diagnostics);
  diagnostics.throw_if_any();
  return chosen.make(std::forward<Context>(context)...);
}

struct Times {
  std::vector<double> wall, processor;

  template <class F>
  void add(const F& f) {
    const auto begun = std::chrono::steady_clock::now();
    const std::clock_t before = std::clock();
    f();
    processor.push_back(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
    wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  static double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::stoll(argv[1]) : 10000, d = argc > 2 ? std::stoll(argv[2]) : 10;
  const int repeats = argc > 3 ? std::stoi(argv[3]) : 41;
  at::set_num_threads(2);
  const auto all = [d](int value) {
    return fmt::format("[{}]", fmt::join(std::vector<int>(static_cast<std::size_t>(d), value), ", "));
  };
  const auto target = make<TargetPlugin>("gaussian", fmt::format("{{mean: {}, sd: {}}}", all(0), all(1)), TargetContext{1});
  const auto flow = make<FlowPlugin>("svgd", "{}");
  State state;
  state.x = normal({3, Stream::start, 0}, n, d).to(at::kFloat);
  Simulation simulation({.step = {.count = 1000}, .seed = 1}, *flow, *target, state, [](const Note&) {});
  Times step, sum;
  for (int i = 0; i < 10; ++i) simulation.step();
  for (int i = 0; i < repeats; ++i) {  // 10 steps hold one refresh of the bandwidth
    step.add([&] {
      for (int k = 0; k < 10; ++k) simulation.step();
    });
    const Tensor x = simulation.kernel_state().x, score = -x, a = at::full({n}, 1.0 / static_cast<double>(n), x.options());
    const Kernel kernel({.tau = simulation.tau()});
    sum.add([&] {
      for (int k = 0; k < 10; ++k) kernel.stein(x, x, score, a);
    });
  }
  const double w = Times::median(step.wall) / Times::median(sum.wall);
  const double p = Times::median(step.processor) / Times::median(sum.processor);
  fmt::print("n {}, D {}: a step {:.4g} s, its sum {:.4g} s, ratio {:.3f} (processor time {:.3f})\n", n, d,
             Times::median(step.wall) / 10, Times::median(sum.wall) / 10, w, p);
}
