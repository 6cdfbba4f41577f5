/// Inputs that broke other programs. The numbers name the cases; each line says whose thread it comes from.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/error.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <clocale>
#include <string>
#include <vector>

using sample::mentions;

namespace {

const std::string head = "seed: 1\nflow: mmd\ntarget: banana\n";

std::string value(const std::string& text, const std::string& pointer, const std::string& directory = "") {
  const auto outcome = sample::read(head + text, {}, directory);
  return outcome.ok() ? outcome.json.at(gaussflow::config::Json::json_pointer(pointer)).dump() : outcome.errors;
}
std::string errors(const std::string& text) { return sample::read(head + text).errors; }

}  // namespace

TEST_CASE("cfg-01 duplicate keys are refused with both lines (yaml-cpp#60, #826, #651, flow123d#1219)") {
  CHECK(mentions(errors("kernel:\n  tau: 1\n  refresh: 3\n  tau: 2\n"),
                 "run.yaml:7:3: key 'tau' is given twice, first in line 5"));
}

TEST_CASE("cfg-02 exponents are numbers, and integers where they are whole (LlamaFactory#4014, spras#484, calliope#57)") {
  CHECK(value("step: {size: 1e-3}", "/step/size") == "0.001");
  CHECK(value("kernel: {tau: 1e2}", "/kernel/tau") == "100.0");
  CHECK(value("step: {count: 1e3}", "/step/count") == "1000");
  CHECK(mentions(errors("step: {count: 1e-3}"), "step.count must be an integer ≥ 0, got '1e-3'"));
}

TEST_CASE("cfg-03 a leading zero is refused, not octal (yaml-cpp#1451)") {
  CHECK(mentions(errors("step: {count: 0100}"), "run.yaml:4:15: step.count must be an integer ≥ 0, got '0100'"));
  CHECK(mentions(errors("step: {count: 0100}"), "write 100"));
}

TEST_CASE("cfg-04 a misspelt key is named with the nearest (SUEWS#1647, Sire#41, hammer#526)") {
  CHECK(mentions(errors("step: {sise: 0.1}"), "run.yaml:4:8: unknown key 'sise' in step"));
  CHECK(mentions(errors("step: {sise: 0.1}"), "did you mean 'size'?"));
}

TEST_CASE("cfg-05 bad text never falls back to a default") {
  CHECK(mentions(errors("kernel: {tau: abc}"), "run.yaml:4:15: kernel.tau must be a number > 0, got 'abc'"));
  CHECK(mentions(sample::read("seed: -5\nflow: mmd\ntarget: banana\n").errors, "run.yaml:1:7: seed must be ≥ 0, got -5"));
  CHECK(mentions(errors("step: {count: ten}"), "run.yaml:4:15: step.count must be an integer ≥ 0, got 'ten'"));
}

TEST_CASE("cfg-06 what is not finite or out of range is refused (asi#166)") {
  for (const char* tau : {".nan", ".inf", "-.inf", ".NaN", "nan", "inf", "0", "-1", "0.0", "-0", "1e999", "1e-999"}) {
    INFO(std::string(tau));
    CHECK(mentions(errors(std::string("kernel: {tau: ") + tau + "}"), "kernel.tau must be "));
  }
  CHECK(mentions(errors("step: {size: .nan}"), "step.size must be a number > 0, got '.nan'"));
}

TEST_CASE("cfg-07 merge keys are refused (yaml-cpp#617, #353, #41)") {
  CHECK(
      mentions(errors("meta:\n  base: &b {tau: 1}\nkernel: {<<: *b}\n"), "run.yaml:6:10: merge keys (<<) are not accepted"));
  CHECK(value("meta:\n  base: &b {tau: 3}\nkernel: *b\n", "/kernel/tau") == "3.0");
}

TEST_CASE("cfg-08 a second document is refused") {
  CHECK(mentions(errors("kernel: {tau: 1}\n---\nkernel: {tau: 2}\n"), "run.yaml:5:1: a second document"));
}

TEST_CASE("cfg-09 an empty config is refused (yaml-cpp#421, #842)") {
  for (const char* text : {"", "# x", "\n\n", "---\n"})
    CHECK(mentions(sample::read(text).errors, "run.yaml: the config is empty"));
}

TEST_CASE("cfg-10 tabs and missing spaces are refused with the line") {
  CHECK(mentions(errors("kernel:\n\ttau: 1\n"), "run.yaml:5:1: a tab in the indentation"));
  CHECK(mentions(errors("kernel:\n  tau:1\n"), "run.yaml:5:3: kernel.bandwidth") == false);
  CHECK(mentions(sample::read("tau:1").errors, "run.yaml:1:1: a config is a map of keys, got 'tau:1'"));
  CHECK(mentions(sample::read("tau:1").errors, "with a space behind the colon"));
  CHECK(mentions(errors("step:\n  count: 3\n  size:1\n"), "run.yaml:6:3: 'size:1' has no ': ' behind it"));
  CHECK(mentions(errors("step: {count:3}\n"), "unknown key 'count:3' in step"));
}

TEST_CASE("cfg-11 booleans are the unquoted words") {
  const auto weighted = [](const std::string& text) {
    const auto outcome = sample::read("seed: 1\ntarget: banana\nflow: {type: svgd, weighted: " + text + "}\n");
    return outcome.ok() ? outcome.json["flow"]["weighted"].dump() : outcome.errors;
  };
  CHECK(weighted("no") == "false");
  CHECK(weighted("off") == "false");
  CHECK(weighted("yes") == "true");
  CHECK(mentions(weighted("'no'"), "flow.weighted must be true or false, got 'no'"));
  CHECK(mentions(weighted("'no'"), "quotes make it a text"));
  CHECK(mentions(weighted("0"), "flow.weighted must be true or false, got '0'"));
}

TEST_CASE("cfg-12 zero and negative intervals are refused, zero steps are not (tusas#151, spirit#301, kynema-ugf#1043)") {
  CHECK(mentions(errors("checkpoint: {every: 0}"),
                 "checkpoint.every must be a time such as 5m or 1h30m, a number of steps ≥ 1, or never, got '0'"));
  CHECK(mentions(errors("checkpoint: {every: 0s}"), "checkpoint.every must be"));
  CHECK(mentions(errors("checkpoint: {every: -5}"), "checkpoint.every must be"));
  CHECK(value("checkpoint: {every: never}", "/checkpoint/every") == R"("never")");
  CHECK(mentions(errors("kernel: {refresh: 0}"), "kernel.refresh must be ≥ 1, got 0"));
  CHECK(mentions(errors("step: {count: -5}"), "step.count must be ≥ 0, got -5"));
  CHECK(value("step: {count: 0}", "/step/count") == "0");
}

TEST_CASE("cfg-13 huge numbers are refused (yaml-cpp#859)") {
  CHECK(mentions(errors("step: {count: 99999999999999999999}"),
                 "step.count must be an integer ≥ 0, got '99999999999999999999'"));
  CHECK(mentions(errors("step: {count: 99999999999999999999}"), "the largest integer is 9223372036854775807"));
  CHECK(mentions(errors("particles: 1000000000000"), "particles.count must be in [1, 1000000000], got 1000000000000"));
}

TEST_CASE("cfg-14 the decimal point does not depend on the locale (ompl#617, jsoncpp#1565, opensim-core#3943)") {
  // Where such a locale is installed; test_value.cpp replaces the C++ locale everywhere.
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  const auto outcome = sample::read(head + "kernel: {tau: 0.5}\n");
  CHECK(outcome.json["kernel"]["tau"] == 0.5);
  CHECK(mentions(gaussflow::config::to_yaml(outcome.json), "tau: 0.5\n"));
  CHECK(mentions(errors("kernel: {tau: '0,5'}"), "kernel.tau must be"));
  CHECK(mentions(errors("kernel:\n  tau: 0,5\n"), "decimals are written with a point"));
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("cfg-15 paths are relative to the config, may hold spaces, and ~ is refused") {
  const auto file = [](const std::string& text, const std::string& directory) {
    const auto outcome = sample::read("seed: 1\nflow: mmd\ntarget: {samples: " + text + "}\n", {}, directory);
    return outcome.ok() ? outcome.json["target"]["samples"]["file"].get<std::string>() : outcome.errors;
  };
  CHECK(file("moons.h5:/x", "configs") == "configs/moons.h5:/x");
  CHECK(file("../data/moons.h5:/x", "configs") == "data/moons.h5:/x");
  CHECK(file("/data/moons.h5:/x", "configs") == "/data/moons.h5:/x");
  CHECK(file("my moons.h5:/x", "configs") == "configs/my moons.h5:/x");
  CHECK(file("'my, moons.h5:/x'", "") == "my, moons.h5:/x");
  CHECK(mentions(file("~/moons.h5:/x", "configs"), "target.samples.file: ~ is not expanded"));
}

TEST_CASE("cfg-16 shapes inside the config must fit") {
  CHECK(mentions(sample::read("seed: 1\nflow: mmd\ntarget: {gaussian: {mean: [0, 0, 0], cov: [[1, 0], [0, 1]]}}\n").errors,
                 "target.gaussian.cov must have the size of the mean"));
  CHECK(mentions(sample::read("seed: 1\nflow: mmd\ntarget: {gaussian: {mean: [0, 0], cov: [[1, 0], [0]]}}\n").errors,
                 "target.gaussian.cov must have the size of the mean"));
}

TEST_CASE("cfg-17 byte order mark, CRLF and a missing last line break change nothing (yaml-cpp#11, rapidyaml#559)") {
  const std::string good = head + "kernel:\n  tau: 2\n";
  std::string windows;
  for (const char c : good) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const std::string expected = sample::read(good).json.dump();
  for (const std::string& text : {"\xEF\xBB\xBF" + good, windows, "\xEF\xBB\xBF" + windows, good.substr(0, good.size() - 1)})
    CHECK(sample::read(text).json.dump() == expected);
}

TEST_CASE("cli-01 and cli-02 numbers on the command line are as strict, and may be negative (CLI11#801, #1139, #403)") {
  const auto set = [](const std::string& assignment) { return sample::read(head, {assignment}).errors; };
  CHECK(mentions(set("step.count=99999999999999999999999"), "the largest integer is 9223372036854775807"));
  CHECK(mentions(set("seed=-1"), "--set seed=-1: seed must be ≥ 0, got -1"));
  CHECK(mentions(set("kernel.tau="), "no value behind '='"));
  CHECK(mentions(set("step.count=010"), "write 10"));
  CHECK(mentions(set("kernel.tau=-1e-3"), "kernel.tau must be > 0, got -1e-3"));
  CHECK(sample::read(head, {"target.gaussian.mean=[1, -.2]"}).json["target"]["gaussian"]["mean"].dump() == "[1.0,-0.2]");
}
