/// Configs and overrides damaged at random: refused with a message, or read exactly as they say. Never a crash, never slow,
/// never a default in place of what was written.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/error.hpp"

#include "config/reference_reader.hpp"
#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

using namespace gaussflow::config;

namespace {

const std::vector<std::string> configs{
    "# samples to particles\n"
    "flow: mmd\n"
    "target: {samples: moons.h5:/x, batch: 64}\n"
    "particles: 2000\n"
    "step: {count: 2000}   # size 1/tau\n"
    "seed: 1\n",

    "name: a posterior\n"
    "flow: {type: svgd, weighted: no}\n"
    "target:\n"
    "  gaussian:\n"
    "    mean: [0, -.2]\n"
    "    cov: [[1, 0], [0, 1e-1]]\n"
    "particles: {count: 500, init: {normal: {mean: 0, std: [1, 2]}}}\n"
    "step:\n"
    "  count: 3_000\n"
    "  method: rmsprop\n"
    "  size: 0.05\n"
    "kernel: {bandwidth: median, refresh: 10, tau: auto}\n"
    "meta:\n"
    "  - a\n"
    "  - 'b: c'\n"
    "  - {x: 1, y: [1, [2, 3.5]]}\n"
    "seed: 1\n",

    "seed: 7\n"
    "flow:\n"
    "  type: mmd\n"
    "  gradient: autograd\n"
    "  anneal: 2\n"
    "target: banana\n"
    "particles:\n"
    "  count: 1e5\n"
    "  init: {run: runs/a}\n"
    "checkpoint: {every: 1h30m, keep: 3}\n"
    "kernel: &k {sigma: 2.5}\n"
    "meta: {kernel: *k, text: \"a\\tb\", on: yes}\n",
};

const std::vector<std::string> assignments{"seed=5",
                                           "flow=svgd",
                                           "flow.type=mmd",
                                           "flow.gradient=autograd",
                                           "target.samples=mine.h5:/x",
                                           "target.batch=10",
                                           "target.samples.batch=7",
                                           "target=banana",
                                           "target.gaussian.mean=[1, -.2]",
                                           "target.banana.curvature=2",
                                           "particles=300",
                                           "particles.count=4",
                                           "particles.init.normal.mean=[1,-.2]",
                                           "particles.init=normal",
                                           "particles.init.run=runs/b",
                                           "kernel.tau=auto",
                                           "kernel=median",
                                           "kernel={tau: 2}",
                                           "step.size=1e-3",
                                           "step=10",
                                           "checkpoint.every=never",
                                           "checkpoint=5m",
                                           "meta.a.b='c d'",
                                           "meta={a: [1, 2]}",
                                           "name=\"x\""};

const std::vector<std::string> tokens{": ",       ":",        "- ",       "? ",
                                      "{",        "}",        "[",        "]",
                                      ",",        "#",        " #",       "&a ",
                                      "*a ",      "*k",       "!!str ",   "! ",
                                      "|",        "|2\n",     ">",        "'",
                                      "\"",       "\\",       "%",        "---",
                                      "...",      "\n---\n",  "\n...\n",  "\t",
                                      "  ",       "\n",       "\r\n",     "<<: ",
                                      "~",        "null",     "auto",     "0x10",
                                      "0100",     "1e3",      ".nan",     "yes",
                                      "no",       "\xC3\xA9", "\xC2\xA0", "\xEF\xBB\xBF",
                                      "@",        "`",        "=",        std::string("\0", 1),
                                      "\x07",     "\n\n",     " ",        "seed: 2\n",
                                      "tau: 2",   "|-\n",     ">+\n",     "''",
                                      "\"\"",     "1_0",      ".",        "-",
                                      "e",        "mmd",      "svgd",     "samples",
                                      "banana: ", "type: ",   "count: "};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }
  const std::string& one_of(const std::vector<std::string>& list) { return list[below(list.size())]; }

  std::string damaged(std::string text) {
    static const std::vector<int> counts{1, 1, 1, 2, 2, 3, 5};
    for (int i = counts[below(counts.size())]; i > 0 && !text.empty(); --i) damage(text);
    return text;
  }

 private:
  void damage(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(7)) {
      case 0:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        text.erase(at, 1 + below(below(4) == 0 ? 20 : 2));
        break;
      case 2:
        text.insert(at, text.substr(at, 1 + below(below(4) == 0 ? 40 : 3)));
        break;
      case 3:
      case 4:
        text.insert(at, one_of(tokens));
        break;
      case 5:
        text[at] = " \n:-,[]{}'\"#&*!|>%@?0123456789abcXYZ~/._+="[below(43)];
        break;
      default:
        damage_lines(text);
    }
  }

  void damage_lines(std::string& text) {
    std::vector<std::string> lines(1);
    for (const char c : text) {
      if (c == '\n')
        lines.emplace_back();
      else
        lines.back() += c;
    }
    const std::size_t at = below(lines.size());
    switch (below(4)) {
      case 0:
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), std::string(lines[at]));
        break;
      case 1:
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 2:
        lines[at].insert(0, 1 + below(2), ' ');
        break;
      default:
        lines[at].erase(0, 1);
    }
    text.clear();
    for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\n") + lines[i];
  }

  std::mt19937_64 engine_;
};

struct Count {
  int accepted = 0;
  int refused = 0;
  double slowest = 0;
};

/// One config with its overrides: refused with a ConfigError, or equal to the reference.
void check(const std::string& text, const std::vector<std::string>& overrides, Count& count) {
  const std::clock_t start = std::clock();
  Node root;
  Json written;
  bool accepted = false;
  try {
    root = parse_yaml(text, "run.yaml", "");
    Diagnostics diagnostics;
    for (const std::string& assignment : overrides) apply_override(root, assignment, "", diagnostics);
    const sample::Config config = sample::schema().read(root, diagnostics);
    diagnostics.throw_if_any();
    written = sample::schema().write(config);
    accepted = true;
  } catch (const gaussflow::ConfigError& error) {
    CHECK(std::string(error.what()) != "");
  }
  count.slowest = std::max(count.slowest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  ++(accepted ? count.accepted : count.refused);
  if (!accepted) return;
  Json expected;
  try {
    expected = sample::reference(root);
  } catch (const std::runtime_error& error) {
    expected = std::string("refused: ") + error.what();
  }
  std::string all;
  for (const std::string& assignment : overrides) all += " [" + assignment + "]";
  INFO(text);
  INFO(all);
  CHECK(sample::comparable(written).dump() == expected.dump());
  // And what was written says the same again.
  const auto again = sample::read(to_yaml(written));
  CHECK(again.errors == "");
  CHECK(again.json == written);
}

/// 20 000, or as many as GAUSSFLOW_MUTATIONS says.
int rounds() {
  const char* wanted = std::getenv("GAUSSFLOW_MUTATIONS");
  return wanted ? std::atoi(wanted) : 20'000;
}

}  // namespace

TEST_CASE("the reference agrees on configs that nothing happened to") {
  Count count;
  for (const std::string& text : configs) {
    check(text, {}, count);
    for (const std::string& assignment : assignments) check(text, {assignment}, count);
    for (const std::string& first : assignments)
      for (const std::string& second : assignments) check(text, {first, second}, count);
  }
  CHECK(count.accepted > 1000);
}

TEST_CASE("a damaged config is refused or read as it says") {
  Mutator random(1);
  Count count;
  for (int i = rounds() / 2; i > 0; --i) check(random.damaged(random.one_of(configs)), {}, count);
  MESSAGE("accepted " << count.accepted << ", refused " << count.refused << ", slowest " << count.slowest << " s");
  CHECK(count.accepted * 20 > count.refused);
  CHECK(count.slowest < 1);
}

TEST_CASE("damaged overrides are refused or do what they say") {
  Mutator random(2);
  Count count;
  for (int i = rounds() / 2; i > 0; --i) {
    std::vector<std::string> overrides;
    for (std::size_t n = 1 + random.below(4); n > 0; --n)
      overrides.push_back(random.below(3) == 0 ? random.damaged(random.one_of(assignments)) : random.one_of(assignments));
    check(random.below(4) == 0 ? random.damaged(random.one_of(configs)) : random.one_of(configs), overrides, count);
  }
  MESSAGE("accepted " << count.accepted << ", refused " << count.refused << ", slowest " << count.slowest << " s");
  CHECK(count.accepted * 20 > count.refused);
  CHECK(count.slowest < 1);
}
