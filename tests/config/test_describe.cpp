#include "gaussflow/config/describe.hpp"
#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/error.hpp"

#include "config/sample_config.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

using namespace gaussflow::config;
using sample::mentions;

namespace {

std::vector<KeyInfo> keys() { return sample::schema().keys(); }

/// YAML as an editor sees it before it asks a JSON Schema: YAML 1.2 core types.
Json as_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return nullptr;
    case Node::Kind::sequence: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(as_json(item));
      return list;
    }
    case Node::Kind::map: {
      Json map = Json::object();
      for (const auto& entry : node.entries) map[entry.key] = as_json(entry.value);
      return map;
    }
    case Node::Kind::scalar:
      break;
  }
  if (node.quoted) return node.text;
  if (node.text == "true" || node.text == "false") return node.text == "true";
  if (std::regex_match(node.text, std::regex("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?")))
    return std::stod(node.text);
  return node.text;
}

/// The parts of JSON Schema that are used, by the specification.
bool valid(const Json& schema, const Json& value) {
  const auto has_type = [&](const std::string& type) {
    if (type == "integer") return value.is_number() && value.get<double>() == std::floor(value.get<double>());
    if (type == "number") return value.is_number();
    return type == "string"    ? value.is_string()
           : type == "boolean" ? value.is_boolean()
           : type == "null"    ? value.is_null()
           : type == "array"   ? value.is_array()
                               : value.is_object();
  };
  for (const auto& [word, rule] : schema.items()) {
    bool ok = true;
    if (word == "type")
      ok = rule.is_array() ? std::any_of(rule.begin(), rule.end(), [&](const Json& type) { return has_type(type); })
                           : has_type(rule);
    else if (word == "enum")
      ok = std::find(rule.begin(), rule.end(), value) != rule.end();
    else if (word == "const")
      ok = value == rule;
    else if (word == "anyOf")
      ok = std::any_of(rule.begin(), rule.end(), [&](const Json& form) { return valid(form, value); });
    else if (word == "minimum")
      ok = !value.is_number() || value >= rule;
    else if (word == "maximum")
      ok = !value.is_number() || value <= rule;
    else if (word == "exclusiveMinimum")
      ok = !value.is_number() || value > rule;
    else if (word == "exclusiveMaximum")
      ok = !value.is_number() || value < rule;
    else if (word == "pattern")
      ok = !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    else if (word == "items")
      ok = !value.is_array() || std::all_of(value.begin(), value.end(), [&](const Json& item) { return valid(rule, item); });
    else if (word == "required")
      ok = !value.is_object() ||
           std::all_of(rule.begin(), rule.end(), [&](const Json& name) { return value.contains(name.get<std::string>()); });
    else if (word == "properties" && value.is_object())
      for (const auto& [key, item] : value.items()) ok = ok && (!rule.contains(key) || valid(rule[key], item));
    else if (word == "additionalProperties" && value.is_object())
      for (const auto& [key, item] : value.items()) ok = ok && schema["properties"].contains(key);
    if (!ok) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("the types of keys read as words") {
  std::string types;
  for (const KeyInfo& key : keys())
    for (const KeyInfo& child : key.children)
      if (key.kind == KeyInfo::Kind::section) types += child.name + ": " + child.type + "\n";
  CHECK(types ==
        "count: integer in [1, 1000000000]\n"
        "init: normal | run\n"
        "tau: number > 0 or auto\n"
        "sigma: number > 0 or auto\n"
        "bandwidth: text\n"
        "refresh: integer ≥ 1\n"
        "count: integer ≥ 0\n"
        "method: euler | momentum | rmsprop\n"
        "size: number > 0 or auto\n"
        "mu: number in [0, 1)\n"
        "every: 5m, 1000steps or never\n"
        "keep: integer ≥ 1\n");
  CHECK(sample::targets().at("samples").keys().at(0).type == "FILE or FILE:/dataset");
  CHECK(sample::targets().at("gaussian").keys().at(1).type == "list of lists of numbers");
  CHECK(sample::starts().at("normal").keys().at(1).type == "list of numbers > 0");
}

TEST_CASE("the listing is aligned and complete") {
  const std::string text = keys_text(keys());
  CHECK(
      text.starts_with("  name              text                         \"\"        file stem\n"
                       "  seed              integer ≥ 0                  required  of all random numbers\n"));
  CHECK(mentions(text, "\n  kernel.sigma      number > 0 or auto           auto      width, τ = 1/σ²\n"));
  std::vector<KeyInfo> wide(2);
  wide[0].name = "a";
  wide[0].type = "one of a great many words that do not fit into a column";
  wide[0].options.doc = "a text that is far too long for one line of a narrow terminal and goes on";
  wide[0].options.unit = "s";
  wide[1].name = "long_name";
  wide[1].type = "number";
  wide[1].default_text = "1";
  wide[1].options.doc = "short";
  CHECK(keys_text(wide, 60) ==
        "  a          one of a great many words that do not fit into a column\n"
        "                        a text that is far too long for one\n"
        "                        line of a narrow terminal and goes\n"
        "                        on [s]\n"
        "  long_name  number  1  short\n");
}

TEST_CASE("the Markdown table says what a resumed run may change") {
  const std::string text = keys_markdown(keys());
  CHECK(mentions(text,
                 "| key | value | default | meaning | on resume |\n| --- | --- | --- | --- | --- |\n| `name` | text | "
                 "`\"\"` | file stem | free |\n"));
  CHECK(mentions(text, "| `seed` | integer ≥ 0 | required | of all random numbers | fixed |\n"));
  CHECK(mentions(text, "| `step.method` | euler \\| momentum \\| rmsprop | `euler` | the stepper | fixed |\n"));
}

TEST_CASE("the example is a config of defaults") {
  const std::string example = example_yaml(keys());
  CHECK(mentions(example, "# of all random numbers: integer ≥ 0, required\nseed: 1\n"));
  CHECK(mentions(example, "kernel:\n  # precision: number > 0 or auto\n  tau: auto\n"));
  const auto outcome = sample::read(example, {"target=gaussian"});
  CHECK(outcome.errors == "");
  CHECK(outcome.json == sample::read("seed: 1\nflow: mmd\ntarget: gaussian\n").json);
  for (const auto& [name, plugin] : sample::targets()) {
    Diagnostics diagnostics;
    plugin.read(parse_yaml(example_yaml(plugin.keys()), name, ""), diagnostics);
    CHECK(diagnostics.ok());
  }
}

TEST_CASE("the JSON Schema accepts what is accepted and refuses what is refused") {
  const Json schema = json_schema(keys(), "gaussflow config");
  CHECK(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  const std::string head = "seed: 1\nflow: mmd\ntarget: banana\n";
  const auto agree = [&](const std::string& text, bool accepted) {
    INFO(text);
    const auto outcome = sample::read(text);
    INFO(outcome.errors);
    CHECK(outcome.ok() == accepted);
    CHECK(valid(schema, as_json(parse_yaml(text, "run.yaml", ""))) == accepted);
  };
  for (const char* more : {"",
                           "name: 5",
                           "name: 'x y'",
                           "particles: 2000",
                           "particles: {count: 2000, init: {normal: {mean: 0, std: [1, 2]}}}",
                           "particles: {init: normal}",
                           "particles: {init: auto}",
                           "particles: {init: }",
                           "particles: {init: {run: a}}",
                           "particles: {init: {run: {folder: a}}}",
                           "particles: {init: {run: , folder: a}}",
                           "particles:",
                           "kernel: median",
                           "kernel: {tau: 0.5}",
                           "kernel: {tau: auto}",
                           "kernel: {tau: }",
                           "step: {count: 0, method: momentum, mu: 0}",
                           "step: 2e3",
                           "checkpoint: never",
                           "checkpoint: {every: 5m}",
                           "checkpoint: {every: 1000 steps}",
                           "checkpoint: 100",
                           "checkpoint: 1h30m",
                           "meta: {a: [1, {b: c}]}"})
    agree(head + more + "\n", true);
  for (const char* more :
       {"nme: 5", "name: [a]", "particles: many", "particles: 0", "particles: 2.5", "particles: {cont: 3}",
        "particles: {init: {norml: }}", "particles: {init: {normal: , run: a}}", "particles: {init: [normal]}",
        "kernel: {tau: 0}", "kernel: {tau: abc}", "kernel: {tau: '1'}", "step: {method: eulr}", "step: {mu: 1}",
        "step: {count: -1}", "checkpoint: {every: 0}", "checkpoint: {every: sometimes}", "checkpoint: {keep: }"})
    agree(head + more + "\n", false);
  for (const char* text : {"seed: 1\nflow: {type: svgd, weighted: true}\ntarget: {samples: a.h5:/x, batch: 3}\n",
                           "seed: 1\nflow: {type: mmd, anneal: auto}\ntarget: {gaussian: {mean: [1, 2]}}\n",
                           "seed: 1\nflow: {type: mmd}\ntarget: {banana: }\n",
                           "seed: 1\nflow: mmd\ntarget: {samples: {file: a, batch: auto}}\n"})
    agree(text, true);
  for (const char* text :
       {"flow: mmd\ntarget: banana\n", "seed: 1\nflow: {type: svgd, gradient: eq8}\ntarget: banana\n",
        "seed: 1\nflow: {gradient: eq8}\ntarget: banana\n", "seed: 1\nflow: mmd\ntarget: {samples: a, gaussian: }\n",
        "seed: 1\nflow: mmd\ntarget: {batch: 3}\n", "seed: 1\nflow: mmd\ntarget: auto\n",
        "seed: -1\nflow: mmd\ntarget: banana\n", "seed: 1\nflow: mmd\ntarget:\n"})
    agree(text, false);
}
