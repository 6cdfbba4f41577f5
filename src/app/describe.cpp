#include "gaussflow/config/describe.hpp"

#include "gaussflow/core/text.hpp"
#include "gaussflow/flow/flow.hpp"
#include "gaussflow/target/target.hpp"

#include "app/verbs.hpp"
#include "run/config.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>

namespace gaussflow::app {

namespace {

struct DescribeArguments {
  std::string name;
  bool example = false;
  bool schema = false;
  bool markdown = false;
};

ExitCode describe(const DescribeArguments& arguments) {
  const std::vector<config::KeyInfo> sections = run::config_keys();
  if (arguments.schema) {
    fmt::print("{}\n", config::json_schema(sections, "gaussflow config").dump(2));
    return ExitCode::ok;
  }
  if (arguments.markdown) {
    fmt::print(
        "# Configuration\n\nMade by `gaussflow describe --markdown`; a test compares. *resume*: may the key change within a "
        "run?\n\n{}",
        config::keys_markdown(sections));
    return ExitCode::ok;
  }
  if (arguments.name.empty()) {
    if (arguments.example) {
      fmt::print("{}", config::example_yaml(sections));
      return ExitCode::ok;
    }
    for (const config::KeyInfo& section : sections) {
      fmt::print("{:<12} {}\n", section.name, section.options.doc);
      if (!section.choices.empty())
        for (const config::KeyInfo& entry : section.children) fmt::print("  {:<16} {}\n", entry.name, entry.options.doc);
    }
    fmt::print(
        "\ngaussflow describe NAME shows the keys of a section, flow, target or start; --example a commented config\n");
    return ExitCode::ok;
  }
  std::vector<std::string> known;
  bool found = false;
  const std::function<void(const std::vector<config::KeyInfo>&, const std::string&)> walk =
      [&](const std::vector<config::KeyInfo>& keys, const std::string& path) {
        for (const config::KeyInfo& key : keys) {
          const std::string inner = path.empty() ? key.name : path + "." + key.name;
          if (key.type == "section" || !key.children.empty()) {
            known.push_back(key.name);
            if (key.name == arguments.name || inner == arguments.name) {
              found = true;
              fmt::print("{}: {}\n{}", inner, key.options.doc,
                         arguments.example ? config::example_yaml({key}) : config::keys_text(key.children) + "\n");
            }
            walk(key.children, inner);
          }
        }
      };
  walk(sections, "");
  if (!found)
    throw UsageError(fmt::format("describe: nothing is called '{}'{}. gaussflow describe lists all", arguments.name,
                                 suggestion(arguments.name, known)));
  return ExitCode::ok;
}

}  // namespace

Action add_describe(CLI::App& verb) {
  const auto arguments = std::make_shared<DescribeArguments>();
  verb.add_option("name", arguments->name, "section, flow, target or start; left out: an overview")->type_name("NAME");
  verb.add_flag("--example", arguments->example, "a commented piece of config");
  verb.add_flag("--schema", arguments->schema, "JSON Schema of a config, for editors");
  verb.add_flag("--markdown", arguments->markdown, "all keys as docs/configuration.md");
  return [arguments] { return describe(*arguments); };
}

}  // namespace gaussflow::app
