#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/error.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace gaussflow::config;
using sample::mentions;

namespace {

const std::string required = "seed: 1\nflow: mmd\ntarget: banana\n";

/// A section of the resolved form of a config that gives only it beside the required keys.
std::string section(const std::string& name, const std::string& text) {
  const auto outcome = sample::read(required + name + ": " + text + "\n");
  return outcome.ok() ? outcome.json[name].dump() : outcome.errors;
}
std::string target(const std::string& text) {
  const auto outcome = sample::read("seed: 1\nflow: mmd\ntarget: " + text + "\n");
  return outcome.ok() ? outcome.json["target"].dump() : outcome.errors;
}
std::string flow(const std::string& text) {
  const auto outcome = sample::read("seed: 1\nflow: " + text + "\ntarget: banana\n");
  return outcome.ok() ? outcome.json["flow"].dump() : outcome.errors;
}

}  // namespace

TEST_CASE("a short config is complete when resolved") {
  const auto outcome =
      sample::read("flow: mmd\ntarget: {samples: moons.h5:/x}\nparticles: 2000\nstep: {count: 2e3}   # size 1/τ\nseed: 1\n");
  CHECK(outcome.errors == "");
  CHECK(to_yaml(outcome.json) ==
        "name: \"\"\n"
        "seed: 1\n"
        "flow:\n"
        "  type: mmd\n"
        "  gradient: eq8\n"
        "  anneal: auto\n"
        "target:\n"
        "  samples:\n"
        "    file: moons.h5:/x\n"
        "    batch: auto\n"
        "particles:\n"
        "  count: 2000\n"
        "  init: auto\n"
        "kernel:\n"
        "  tau: auto\n"
        "  sigma: auto\n"
        "  bandwidth: median\n"
        "  refresh: 10\n"
        "step:\n"
        "  count: 2000\n"
        "  method: euler\n"
        "  size: auto\n"
        "  mu: 0.9\n"
        "checkpoint:\n"
        "  every: 5m\n"
        "  keep: 2\n"
        "meta: {}\n");
  const auto again = sample::read(to_yaml(outcome.json));
  CHECK(again.json.dump() == outcome.json.dump());
}

TEST_CASE("an unknown key is named with its section and the key that was meant") {
  CHECK(sample::read(required + "kernel:\n  bandwith: median\n").errors ==
        "run.yaml:5:3: unknown key 'bandwith' in kernel\n"
        "    5 |   bandwith: median\n"
        "      |   ^~~~~~~~ did you mean 'bandwidth'?");
  CHECK(sample::read(required + "kernal: 1\n").errors ==
        "run.yaml:4:1: unknown key 'kernal'\n"
        "    4 | kernal: 1\n"
        "      | ^~~~~~ did you mean 'kernel'?");
  CHECK(mentions(section("checkpoint", "{often: 5m}"), "unknown key 'often' in checkpoint\n"));
  CHECK(mentions(section("checkpoint", "{often: 5m}"), "^~~~~ keys: every, keep"));
  CHECK(mentions(flow("{type: mmd, gradent: eq8}"), "unknown key 'gradent' in flow (mmd)"));
  CHECK(mentions(flow("{type: svgd, anneal: 1}"), "unknown key 'anneal' in flow (svgd)"));
  CHECK(mentions(target("{samples: {file: x, bach: 3}}"), "unknown key 'bach' in target.samples"));
  CHECK(mentions(target("{samples: x, bach: 3}"), "unknown key 'bach' in target.samples"));
}

TEST_CASE("a key that stands a level too high is told where it belongs") {
  CHECK(mentions(sample::read(required + "tau: 2\n").errors, "^~~ did you mean 'kernel.tau'?"));
  CHECK(mentions(sample::read(required + "gradient: eq8\n").errors, "did you mean 'flow.gradient'?"));
  CHECK(mentions(sample::read(required + "banana: {}\n").errors, "did you mean 'target.banana'?"));
  CHECK(mentions(section("particles", "{normal: {}}"), "did you mean 'particles.init.normal'?"));
  CHECK(mentions(sample::read(required, {"tau=2"}).errors, "did you mean 'kernel.tau'?"));
}

TEST_CASE("a range error says the range and the value") {
  CHECK(sample::read(required + "kernel: {tau: -1}\n").errors ==
        "run.yaml:4:15: kernel.tau must be > 0, got -1\n"
        "    4 | kernel: {tau: -1}\n"
        "      |               ^~");
}

TEST_CASE("every mistake is told in one pass, in the order of lines") {
  const std::string errors = sample::read(
                                 "flow: nmd\ntarget: {sampels: x.h5}\nkernel:\n  bandwith: median\n  tau: -1\nstep: {count: "
                                 "0100, size: .nan, method: eulr, mu: 1}\nparticles: [1, 2]\n")
                                 .errors;
  std::size_t at = 0;
  for (const char* part :
       {"run.yaml:1:1: seed is missing", "add 'seed: …'", "run.yaml:1:7: unknown flow 'nmd'", "did you mean 'mmd'?",
        "run.yaml:2:10: unknown target 'sampels'", "did you mean 'samples'?",
        "run.yaml:4:3: unknown key 'bandwith' in kernel", "run.yaml:5:8: kernel.tau must be > 0, got -1",
        "run.yaml:6:15: step.count must be an integer ≥ 0, got '0100'", "step.size must be a number > 0, got '.nan'",
        "step.method must be euler, momentum or rmsprop, got 'eulr'", "did you mean 'euler'?",
        "step.mu must be in [0, 1), got 1",
        "run.yaml:7:12: particles.count must be an integer in [1, 1000000000], got a list"}) {
    INFO(part);
    INFO(errors);
    const std::size_t found = errors.find(part, at);
    CHECK(found != std::string::npos);
    if (found != std::string::npos) at = found;
  }
}

TEST_CASE("a bare value stands for the main key, nothing for the defaults") {
  CHECK(section("particles", "2000") == R"({"count":2000,"init":null})");
  CHECK(section("particles", "{count: 2000}") == R"({"count":2000,"init":null})");
  CHECK(section("particles", "") == R"({"count":1000,"init":null})");
  CHECK(section("particles", "{}") == R"({"count":1000,"init":null})");
  CHECK(section("checkpoint", "never") == R"({"every":"never","keep":2})");
  CHECK(mentions(section("particles", "many"),
                 "run.yaml:4:12: particles.count must be an integer in [1, 1000000000], got 'many'"));
  CHECK(mentions(section("checkpoint", "{keep: }"), "checkpoint.keep has no value, expected an integer ≥ 1"));
}

TEST_CASE("rules run when the keys are right by themselves, and report at a key") {
  CHECK(section("kernel", "{tau: 1, sigma: 2}") ==
        "run.yaml:4:25: give kernel.tau or kernel.sigma, not both\n"
        "    4 | kernel: {tau: 1, sigma: 2}\n"
        "      |                         ^");
  CHECK(!mentions(section("kernel", "{tau: 1, sigma: -2}"), "not both"));
  CHECK(mentions(target("{gaussian: {mean: [0, 0, 0], cov: [[1, 0], [0, 1]]}}"),
                 "run.yaml:3:43: target.gaussian.cov must have the size of the mean"));
}

TEST_CASE("one of: nested, beside the name, or a bare name") {
  const std::string resolved = R"({"samples":{"file":"a.h5:/x","batch":64}})";
  CHECK(target("{samples: {file: a.h5:/x, batch: 64}}") == resolved);
  CHECK(target("{samples: a.h5:/x, batch: 64}") == resolved);
  CHECK(target("{batch: 64, samples: a.h5:/x}") == resolved);
  CHECK(target("{samples: , file: a.h5:/x, batch: 64}") == resolved);
  CHECK(target("{samples: {file: a.h5:/x}, batch: 64}") == resolved);
  CHECK(target("banana") == R"({"banana":{"curvature":0.5}})");
  CHECK(target("{banana: }") == R"({"banana":{"curvature":0.5}})");
  CHECK(target("{banana}") == R"({"banana":{"curvature":0.5}})");
  CHECK(target("{banana: {}}") == R"({"banana":{"curvature":0.5}})");
  CHECK(target("{gaussian: {mean: 3}}") == R"({"gaussian":{"mean":[3.0],"cov":[]}})");
  CHECK(section("particles", "{init: {run: {folder: a}}}") == R"({"count":1000,"init":{"run":{"folder":"a"}}})");
  CHECK(section("particles", "{init: auto}") == R"({"count":1000,"init":null})");

  CHECK(mentions(target("{samples: a.h5, gaussian: }"),
                 "run.yaml:3:25: target is one of banana, gaussian or samples: both 'samples' and 'gaussian' are given"));
  CHECK(mentions(target("{samples: {file: a, batch: 1}, batch: 2}"), "target.samples.batch is given twice"));
  CHECK(mentions(target("{samples: a, file: b}"), "target.samples.file is given twice"));
  CHECK(mentions(target("{}"), "run.yaml:3:9: target must say which"));
  CHECK(mentions(target("{}"), "one of banana, gaussian or samples"));
  CHECK(mentions(target("{batch: 3}"), "target must say which"));
  CHECK(mentions(target("{gausian: }"), "unknown target 'gausian'"));
  CHECK(mentions(target("a.h5:/x"), "run.yaml:3:9: unknown target 'a.h5:/x'"));
  CHECK(mentions(target(""), "target has no value, expected one of banana, gaussian or samples"));
  CHECK(mentions(target("[banana]"), "target must be one of banana, gaussian or samples, got a list"));
  CHECK(mentions(target("{samples: {batch: 64}}"), "target.samples.file is missing"));
  CHECK(mentions(target("{banana: 3}"), "target.banana must be a map of keys, got '3'"));
  CHECK(mentions(target("samples"), "target.samples.file is missing"));
}

TEST_CASE("typed: a bare name or a map with its type") {
  CHECK(flow("svgd") == R"({"type":"svgd","weighted":false})");
  CHECK(flow("{type: svgd, weighted: yes}") == R"({"type":"svgd","weighted":true})");
  CHECK(flow("{weighted: yes, type: svgd}") == R"({"type":"svgd","weighted":true})");
  CHECK(flow("{type: mmd, anneal: auto}") == R"({"type":"mmd","gradient":"eq8","anneal":null})");
  CHECK(mentions(flow("{anneal: 1}"), "flow.type is missing"));
  CHECK(mentions(flow("{type: [mmd]}"), "flow must be one of mmd or svgd, got a list"));
  CHECK(mentions(flow("{type: mmf}"), "run.yaml:2:14: unknown flow 'mmf'"));
  CHECK(mentions(flow("{svgd: {weighted: yes}}"), "unknown key 'svgd' in flow"));
}

TEST_CASE("what was chosen can be built") {
  Diagnostics diagnostics;
  const auto config = sample::schema().read(
      parse_yaml("seed: 1\nflow: {type: svgd, weighted: on}\ntarget: {samples: a.h5:/x}\nparticles: {init: {run: b}}\n",
                 "run.yaml", "in"),
      diagnostics);
  CHECK(diagnostics.ok());
  CHECK(config.flow.name == "svgd");
  CHECK(config.flow.make()->describe() == "weighted svgd");
  CHECK(config.target.make(7)->describe() == "in/a.h5:/x seed 7");
  CHECK(config.particles.init.make()->describe() == "in/b");
  CHECK(config.target.resolved.dump() == R"({"file":"in/a.h5:/x","batch":null})");
}

TEST_CASE("read_one_of and read_typed stand alone too") {
  Diagnostics diagnostics;
  const Node root = parse_yaml("target: {samples: a.h5}\nflow: {type: mmd, x: 1}\n", "run.yaml", "");
  CHECK(read_one_of(*root.find("target"), sample::targets(), "target", diagnostics).name == "samples");
  CHECK(read_typed(*root.find("flow"), sample::flows(), "flow", diagnostics).name == "mmd");
  CHECK(mentions(diagnostics.errors().at(0), "unknown key 'x' in flow (mmd)"));
}

TEST_CASE("a key may be declared once only") {
  struct Twice {
    double a = 0, b = 0;
  };
  Schema<Twice> schema("twice");
  schema.key("a", &Twice::a, {.doc = "a"});
  CHECK_THROWS_AS(schema.key("a", &Twice::b, {.doc = "b"}), std::logic_error);
}

TEST_CASE("defaults are those of the section's owner, not of the section's own type") {
  struct Inner {
    double x = 1;
  };
  struct Outer {
    Inner inner{.x = 2};
  };
  const auto schema =
      Schema<Outer>("outer").section("inner", &Outer::inner, Schema<Inner>("inner").key("x", &Inner::x, {.doc = "x"}), {});
  Diagnostics diagnostics;
  CHECK(schema.read(Node{}, diagnostics).inner.x == 2);
  CHECK(schema.read(parse_yaml("inner: {}", "a", ""), diagnostics).inner.x == 2);
  CHECK(schema.keys().at(0).children.at(0).default_text == "2");
  CHECK(schema.keys().at(0).options.doc == "inner");
}
