#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/error.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using sample::mentions;

namespace {

const std::string base = "seed: 1\nflow: mmd\ntarget: {samples: moons.h5:/x}\nparticles: 2000\n";

/// The resolved value at a JSON pointer after overrides, or the errors.
std::string value(const std::string& text, const std::vector<std::string>& overrides, const std::string& pointer) {
  const auto outcome = sample::read(text, overrides, "configs");
  return outcome.ok() ? outcome.json.at(gaussflow::config::Json::json_pointer(pointer)).dump() : outcome.errors;
}
std::string value(const std::vector<std::string>& overrides, const std::string& pointer) {
  return value(base, overrides, pointer);
}

}  // namespace

TEST_CASE("an override sets a key, makes the sections it needs, and the last one wins") {
  CHECK(value({"seed=5"}, "/seed") == "5");
  CHECK(value({"seed=5", "seed=6"}, "/seed") == "6");
  CHECK(value({"kernel.tau=2"}, "/kernel/tau") == "2.0");
  CHECK(value({"kernel.tau = 2 "}, "/kernel/tau") != "2.0");
  CHECK(value({"kernel.tau= 2 "}, "/kernel/tau") == "2.0");
  CHECK(value({"kernel.tau=-1e-3"}, "/kernel/tau").starts_with("--set kernel.tau=-1e-3: kernel.tau must be > 0, got -1e-3"));
  CHECK(value({"target.gaussian.mean=[1, -.2]"}, "/target") == R"({"gaussian":{"mean":[1.0,-0.2],"cov":[]}})");
  CHECK(value({"meta.note='a #b'"}, "/meta/note") == R"("a #b")");
  CHECK(value({"meta.a.b.c={d: [1, 2]}"}, "/meta/a/b/c/d") == "[1,2]");
  CHECK(value({"kernel.tau=3", "kernel.tau=auto"}, "/kernel/tau") == "null");
  CHECK(value({"kernel.tau=3", "kernel.tau=null"}, "/kernel/tau") == "null");
  CHECK(value({"name=''"}, "/name") == R"("")");
  CHECK(value({"name=\"a b\""}, "/name") == R"("a b")");
  CHECK(value({"name=a=b"}, "/name") == R"("a=b")");
}

TEST_CASE("a shorthand on the way keeps its value") {
  CHECK(value({"flow.gradient=autograd"}, "/flow") == R"({"type":"mmd","gradient":"autograd","anneal":null})");
  CHECK(value({"particles.init.normal.mean=[1,-.2]"}, "/particles") ==
        R"({"count":2000,"init":{"normal":{"mean":[1.0,-0.2],"std":[1.0]}}})");
  CHECK(value({"target.samples.batch=10"}, "/target") == R"({"samples":{"file":"configs/moons.h5:/x","batch":10}})");
  CHECK(value({"target.batch=10"}, "/target") == R"({"samples":{"file":"configs/moons.h5:/x","batch":10}})");
  CHECK(value("seed: 1\nflow: mmd\ntarget: banana\n", {"target.curvature=2"}, "/target") ==
        R"({"banana":{"curvature":2.0}})");
  CHECK(value("seed: 1\nflow: mmd\ntarget: banana\n", {"target.banana.curvature=2"}, "/target") ==
        R"({"banana":{"curvature":2.0}})");
}

TEST_CASE("setting the main key after a shorthand wins, and the other way round") {
  CHECK(value({"flow.type=svgd"}, "/flow") == R"({"type":"svgd","weighted":false})");
  CHECK(value({"flow=svgd"}, "/flow") == R"({"type":"svgd","weighted":false})");
  CHECK(value({"flow.type=svgd", "flow=mmd"}, "/flow/type") == R"("mmd")");
  CHECK(value({"flow=svgd", "flow.type=mmd"}, "/flow/type") == R"("mmd")");
  CHECK(value({"particles.count=7"}, "/particles/count") == "7");
  CHECK(value({"particles.count=7", "particles=8"}, "/particles/count") == "8");
  CHECK(value({"particles.init=normal", "particles=8"}, "/particles") ==
        R"({"count":8,"init":{"normal":{"mean":[0.0],"std":[1.0]}}})");
}

TEST_CASE("a bare value set on a map is its main key; braces replace the map") {
  const std::string text = base + "step: {count: 5, method: momentum}\n";
  CHECK(value(text, {"step=3"}, "/step") == R"({"count":3,"method":"momentum","size":null,"mu":0.9})");
  CHECK(value(text, {"step={count: 3}"}, "/step") == R"({"count":3,"method":"euler","size":null,"mu":0.9})");
  CHECK(value(text, {"step={}"}, "/step") == R"({"count":1000,"method":"euler","size":null,"mu":0.9})");
  CHECK(value(text, {"step=null"}, "/step") == R"({"count":1000,"method":"euler","size":null,"mu":0.9})");
}

TEST_CASE("naming another plugin replaces the old choice, naming the same one keeps its keys") {
  const std::string batched = "seed: 1\nflow: {type: mmd, anneal: 2}\ntarget: {samples: moons.h5:/x, batch: 64}\n";
  CHECK(value({"target=banana"}, "/target") == R"({"banana":{"curvature":0.5}})");
  CHECK(value({"target.banana.curvature=2"}, "/target") == R"({"banana":{"curvature":2.0}})");
  CHECK(value("seed: 1\nflow: mmd\ntarget: banana\n", {"target.samples=mine.h5:/x"}, "/target") ==
        R"({"samples":{"file":"mine.h5:/x","batch":null}})");
  CHECK(value("seed: 1\nflow: mmd\ntarget: {banana: {curvature: 2}}\n", {"target.samples=mine.h5:/x"}, "/target") ==
        R"({"samples":{"file":"mine.h5:/x","batch":null}})");
  CHECK(value(batched, {"target.samples=mine.h5:/x"}, "/target") == R"({"samples":{"file":"mine.h5:/x","batch":64}})");
  CHECK(value(batched, {"target.batch=10"}, "/target/samples/batch") == "10");
  CHECK(value(batched, {"target.samples.batch=10"}, "/target/samples/batch") == "10");
  CHECK(value(batched, {"target.samples.batch=10", "target.batch=11"}, "/target/samples/batch") == "11");
  CHECK(value(batched, {"target.batch=11", "target.samples.batch=10"}, "/target/samples/batch") == "10");
  CHECK(value({"target=banana", "target.gaussian.mean=1"}, "/target/gaussian/mean") == "[1.0]");
  CHECK(value({"target.gaussian.mean=1", "target=banana"}, "/target") == R"({"banana":{"curvature":0.5}})");
  CHECK(value({"target.gaussian.mean=1", "target=banana", "target.gaussian.cov=2"}, "/target") ==
        R"({"gaussian":{"mean":[1.0],"cov":[[2.0]]}})");
  CHECK(value({"particles.init=normal", "particles.init.run=a", "particles.init.normal.std=2"},
              "/particles/init/normal/std") == "[2.0]");
  // What the old choice had beside its name is not dropped in silence.
  CHECK(mentions(value(batched, {"target=banana"}, ""), "run.yaml:3:32: unknown key 'batch' in target.banana"));
  CHECK(mentions(value(batched, {"flow=svgd"}, ""), "run.yaml:2:19: unknown key 'anneal' in flow (svgd)"));
  CHECK(value(batched, {"target={banana: }"}, "/target") == R"({"banana":{"curvature":0.5}})");
}

TEST_CASE("paths in an override are relative to the caller, those of the file to the file") {
  CHECK(value({}, "/target/samples/file") == R"("configs/moons.h5:/x")");
  CHECK(value({"target.samples=mine.h5:/x"}, "/target/samples/file") == R"("mine.h5:/x")");
  CHECK(value({"particles.init={run: runs/a}"}, "/particles/init/run/folder") == R"("runs/a")");
}

TEST_CASE("an error points at the flag") {
  CHECK(value({"kernal.tau=3"}, "") ==
        "--set kernal.tau=3: unknown key 'kernal'\n"
        "      | --set kernal.tau=3\n"
        "      |       ^~~~~~ did you mean 'kernel'?");
  CHECK(value({"kernel.tua=3"}, "") ==
        "--set kernel.tua=3: unknown key 'tua' in kernel\n"
        "      | --set kernel.tua=3\n"
        "      |              ^~~ did you mean 'tau'?");
  CHECK(value({"target.gaussian.mean=[1, x]"}, "") ==
        "--set target.gaussian.mean=[1, x]: target.gaussian.mean[1] must be a number, got 'x'\n"
        "      | --set target.gaussian.mean=[1, x]\n"
        "      |                                ^");
  CHECK(value({"name=é", "step.size=é"}, "") ==
        "--set step.size=é: step.size must be a number > 0, got 'é'\n"
        "      | --set step.size=é\n"
        "      |                 ^");
}

TEST_CASE("what is no assignment of one value is refused") {
  struct Row {
    const char* assignment;
    const char* message;
  };
  for (const auto& [assignment, message] :
       {Row{"", "no '=' in it"},
        Row{"seed", "no '=' in it"},
        Row{"=1", "an empty key"},
        Row{".=1", "an empty key"},
        Row{"a.=1", "an empty key"},
        Row{".a=1", "an empty key"},
        Row{"a..b=1", "an empty key"},
        Row{"seed=", "no value behind '='"},
        Row{"seed=  ", "no value behind '='"},
        Row{"name=a #b", "'a #b' is not one plain value"},
        Row{"name=#b", "is not one plain value"},
        Row{"meta.a=b: c", "is not one plain value"},
        Row{"meta.a=- b", "is not one plain value"},
        Row{"name=&x a", "is not one plain value"},
        Row{"name=!!str a", "tags are not accepted"},
        Row{"name=*x", "an alias to an anchor"},
        Row{"name=---", "is not one plain value"},
        Row{"name=|", "is not one plain value"},
        Row{"seed=[1] 2", "does not end here"},
        Row{"seed=[1], [2]", "one value is needed, got several"},
        Row{"seed=[1", "is a bracket left open?"},
        Row{"seed=1]", "got '1]'"},
        Row{"name='a' #b", "a comment in a value"},
        Row{"meta.a=[1, 2] # b", "a comment in a value"},
        Row{"name='a", "a quote that is never closed"},
        Row{"meta={a: 1, a: 2}", "key 'a' is given twice"},
        Row{"name=a\nseed: 2", "a line break"},
        Row{"name=a\n", "a line break"},
        Row{"name=\xff", "is not UTF-8"},
        Row{"name=a\x01", "control character 0x01"},
        Row{"seed=0x10", "write it in decimal"},
        Row{"seed=-1", "seed must be ≥ 0, got -1"},
        Row{"seed=99999999999999999999999", "the largest integer is 9223372036854775807"},
        Row{"seed=1 2", "seed must be an integer ≥ 0, got '1 2'"},
        Row{"seed=null", "seed has no value"},
        Row{"flow.type.x=1", "flow must be one of mmd or svgd, got a map"},
        Row{"seed.x=1", "seed must be an integer ≥ 0, got a map"},
        Row{"target.samples=~/x.h5", "~ is not expanded"}}) {
    INFO(std::string(assignment));
    const std::string errors = value({assignment}, "");
    INFO(errors);
    CHECK(mentions(errors, message));
    CHECK(mentions(errors, "--set "));
  }
  std::string deep = "a";
  for (int i = 0; i < 40; ++i) deep += ".a";
  CHECK(mentions(value({deep + "=1"}, ""), "nested deeper than 32 levels"));
}

TEST_CASE("errors of the file and of the flags come together") {
  const std::string errors = value(base + "kernel: {tau: -1}\n", {"step.size=0", "bogus"}, "");
  CHECK(mentions(errors, "run.yaml:5:15: kernel.tau must be > 0, got -1"));
  CHECK(mentions(errors, "--set step.size=0: step.size must be > 0, got 0"));
  CHECK(mentions(errors, "--set bogus: no '=' in it"));
}
