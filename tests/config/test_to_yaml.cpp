#include "gaussflow/config/schema.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

using namespace gaussflow::config;

namespace {

/// What a reader of plain YAML makes of the text.
Json reread(const std::string& text) {
  const Node root = parse_yaml(text, "a.yaml", "");
  Diagnostics diagnostics;
  Json json;
  Codec<Json>::read(root, {}, diagnostics, json);
  diagnostics.throw_if_any();
  return json;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }

  std::string text() {
    static const std::vector<std::string> hard{"",
                                               " ",
                                               "a b",
                                               "yes",
                                               "No",
                                               "null",
                                               "~",
                                               "auto",
                                               "1",
                                               "1e3",
                                               "0x10",
                                               "0100",
                                               "1_000",
                                               ".nan",
                                               "-.inf",
                                               "1:30",
                                               "2020-01-01",
                                               "12:30:45",
                                               "y",
                                               "N",
                                               "<<",
                                               "=",
                                               "-",
                                               "- a",
                                               "? b",
                                               "a: b",
                                               "a:",
                                               ":a",
                                               "a #b",
                                               "#b",
                                               "'",
                                               "''",
                                               "\"",
                                               "\\",
                                               "\\n",
                                               "\n",
                                               "a\nb\n",
                                               "\t",
                                               "\ta",
                                               "é",
                                               "日本",
                                               "\xF0\x9F\x8C\x80",
                                               "[a]",
                                               "{a: b}",
                                               "*a",
                                               "&a",
                                               "!a",
                                               "|",
                                               ">",
                                               "%a",
                                               "@a",
                                               "`a",
                                               ",",
                                               "a,b",
                                               "---",
                                               "...",
                                               ".",
                                               "..",
                                               "/x",
                                               "a.h5:/x",
                                               "C:\\x",
                                               "5m",
                                               "1000steps",
                                               "a'b",
                                               "a\"b",
                                               " a",
                                               "a ",
                                               "\x01",
                                               "\x7F",
                                               "a\rb",
                                               "true",
                                               "on",
                                               "1.5",
                                               "+1",
                                               "x: y: z",
                                               "\xC2\xA0",
                                               "\xE2\x80\xA8",
                                               "\xEF\xBB\xBF",
                                               "\xC2\x85"};
    if (below(2) == 0) return hard[below(hard.size())];
    std::string text;
    static const std::string letters = "abcXYZ0123456789 :#-_.,[]{}'\"\\/~!&*|>%@?=\n\t";
    for (std::size_t i = below(12); i > 0; --i) text += letters[below(letters.size())];
    return text;
  }

  double number() {
    if (below(3) == 0) return static_cast<double>(below(1000)) / 10;
    double value = 0;
    do {
      const std::uint64_t bits = engine_();
      std::memcpy(&value, &bits, sizeof value);
    } while (!std::isfinite(value));
    return value;
  }

  Json json(int depth) {
    switch (depth == 0 ? below(4) : below(7)) {
      case 0:
        return text();
      case 1:
        return number();
      case 2:
        return static_cast<std::int64_t>(engine_()) >> below(60);
      case 3:
        return below(2) == 0;
      case 4:
      case 5: {
        Json map = Json::object();
        for (std::size_t i = below(5); i > 0; --i) map[text() + "k"] = json(depth - 1);
        return map;
      }
      default: {
        Json list = Json::array();
        for (std::size_t i = below(5); i > 0; --i) list.push_back(json(depth - 1));
        return list;
      }
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace

TEST_CASE("whatever is written is read back as the same, kind and value") {
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    Json json = Json::object();
    json["first"] = random.json(3);
    json["second"] = random.json(2);
    const std::string text = to_yaml(json);
    INFO(text);
    const Json back = reread(text);
    INFO(back.dump());
    INFO(json.dump());
    // 2.0 is written as 2 and read as an integer: equal, not alike.
    CHECK(back == json);
  }
}

TEST_CASE("the layout a person would choose") {
  Json json = {{"a", 1},          {"list", {1, 2.5, 1e-30}}, {"matrix", {{1, 0}, {0, 1}}}, {"words", {"x", "yes", "a b"}},
               {"none", nullptr}, {"empty", Json::object()}, {"no_items", Json::array()}};
  json["map"] = {{"k", "v"}, {"deep", {{"x", 1}}}};
  json["maps"] = Json::array({{{"p", 1}, {"q", 2}}, 3, Json::array()});
  CHECK(to_yaml(json) ==
        "a: 1\n"
        "list: [1, 2.5, 1.0e-30]\n"
        "matrix: [[1, 0], [0, 1]]\n"
        "words: [x, \"yes\", a b]\n"
        "none: auto\n"
        "empty: {}\n"
        "no_items: []\n"
        "map:\n"
        "  k: v\n"
        "  deep:\n"
        "    x: 1\n"
        "maps:\n"
        "  - p: 1\n"
        "    q: 2\n"
        "  - 3\n"
        "  - []\n");
  CHECK(to_yaml(Json::object()) == "{}\n");
  CHECK(to_yaml_flow({{"a", {{"b", "c, d"}}}}) == "{a: {b: \"c, d\"}}");
}

TEST_CASE("what cannot be read back is not written") {
  CHECK_THROWS_AS(to_yaml({{"x", std::nan("")}}), std::logic_error);
  CHECK_THROWS_AS(to_yaml({{"x", INFINITY}}), std::logic_error);
}

TEST_CASE("a resolved config resolves to itself, whatever its values") {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    sample::Config config;
    config.name = random.text();
    config.seed = static_cast<std::int64_t>(random.below(1'000'000));
    Diagnostics ignored;
    config.flow = read_typed(
        parse_yaml("f: {type: mmd, anneal: " + to_yaml_flow(std::abs(random.number())) + "}", "a", "").entries[0].value,
        sample::flows(), "flow", ignored);
    const std::string mean = to_yaml_flow({random.number(), random.number()});
    config.target = read_one_of(parse_yaml("t: {gaussian: {mean: " + mean + "}}", "a", "").entries[0].value,
                                sample::targets(), "target", ignored);
    CHECK(ignored.ok());
    config.particles.count = static_cast<std::int64_t>(random.below(1'000'000)) + 1;
    if (random.below(2) == 0) config.kernel.tau = std::abs(random.number()) + 1e-300;
    config.kernel.bandwidth = random.text();
    config.step.method = random.below(2) == 0 ? sample::Method::momentum : sample::Method::rmsprop;
    if (random.below(2) == 0) config.step.size = std::abs(random.number()) + 1e-300;
    if (random.below(2) == 0) config.checkpoint.every = {.steps = 5, .seconds = {}};
    config.meta = Json::object();
    config.meta["k"] = random.json(2);
    const Json written = sample::schema().write(config);
    const std::string text = to_yaml(written);
    INFO(text);
    const auto back = sample::read(text);
    CHECK(back.errors == "");
    CHECK(back.json == written);
    CHECK(to_yaml(back.json) == text);
  }
}
