#include "gaussflow/core/error.hpp"
#include "gaussflow/flow/verdict.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <memory>

using namespace gaussflow;

namespace {

/// log p = c x²/2 and, where c < 0, its moments (`claimed` sd, which a test may state wrongly).
class Parabola : public Target {
 public:
  explicit Parabola(double c, std::int64_t dim = 1, double claimed = 0) : c_(c), dim_(dim), claimed_(claimed) {}
  std::int64_t dim() const override { return dim_; }
  bool has_density() const override { return true; }
  Density density(const Tensor& x, const Draw&) const override { return {x.square().sum(1) * (c_ / 2), x * c_}; }
  std::optional<Moments> moments() const override {
    if (claimed_ == 0) return std::nullopt;
    return Moments{at::zeros({dim_}, at::kDouble), at::full({dim_}, claimed_, at::kDouble)};
  }
  TargetRecord record() const override { return {"parabola", "", {}}; }

 private:
  double c_;
  std::int64_t dim_;
  double claimed_;
};

std::unique_ptr<Flow> svgd() {
  config::Diagnostics diagnostics;
  const auto chosen =
      Registry<FlowPlugin>::instance().find("svgd")->read(config::parse_yaml("{}", "test", "."), diagnostics);
  diagnostics.throw_if_any();
  return chosen.make();
}

Verdict verdict(const Target& target, const Tensor& start, std::int64_t steps) {
  const auto flow = svgd();
  State state;
  state.x = start;
  Simulation simulation({.step = {.count = steps}, .seed = 1}, *flow, target, state, [](const Note&) {});
  for (std::int64_t k = 0; k < steps; ++k) simulation.step();
  return judge(simulation, start);
}

bool says(const Verdict& v, const std::string& part) {
  const bool found = v.text.find(part) != std::string::npos;
  if (!found) MESSAGE(v.text << "   lacks   " << part);
  return found;
}

Tensor spread(std::int64_t n, std::int64_t d) { return normal({3, Stream::start, 0}, n, d); }

}  // namespace

TEST_CASE("a log p without a maximum is a divergence, with one particle and with many") {
  for (const std::int64_t n : {1, 50}) {
    const Verdict v = verdict(Parabola(1), spread(n, 1), n == 1 ? 100'000 : 1000);
    CHECK(v.word == "diverged");
    CHECK(says(v, "no maximum"));
  }
  CHECK(verdict(Parabola(-1), spread(50, 1), 1000).word == "converged");
  CHECK(verdict(Parabola(-1), spread(50, 1) * 1e-3 + 1e4, 50).word == "moving");  // a far start comes in
}

TEST_CASE("particles at one place have collapsed wherever it is, and are told to start apart") {
  for (const double place : {0.0, 1.0}) {
    const Verdict v = verdict(Parabola(-1, 2, 1), at::full({8, 2}, place, at::kDouble), 1000);
    CHECK(v.word == "collapsed");
    CHECK(says(v, "all 8 particles agree in 2 of 2 coordinates"));
    CHECK(says(v, "a start that is spread"));
  }
  Tensor line = spread(50, 2);
  line.select(1, 1).zero_();
  CHECK(verdict(Parabola(-1, 2), line, 1000).word == "collapsed");
}

TEST_CASE("one particle shows no law") {
  const Verdict v = verdict(Parabola(-1, 2, 1), at::full({1, 2}, 0.0, at::kDouble), 10);
  CHECK(v.word == "one particle");
  CHECK(says(v, "particles.count"));
}

TEST_CASE("a cloud at rest is not converged against its reference") {
  CHECK(verdict(Parabola(-1, 1, 1), spread(100, 1), 1000).word == "converged");
  const Verdict v = verdict(Parabola(-1, 1, 8), spread(100, 1), 4000);  // the score asks for sd 1, the reference says 8
  CHECK(v.word == "biased");
  CHECK(says(v, "its variance is 0.01"));
}
