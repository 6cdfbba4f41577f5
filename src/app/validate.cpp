#include "gaussflow/core/say.hpp"

#include "app/options.hpp"
#include "app/verbs.hpp"
#include "run/estimate.hpp"
#include "run/runner.hpp"

#include <fmt/format.h>

#include <memory>

namespace gaussflow::app {

namespace {

struct ValidateArguments {
  std::string config;
  ConfigOptions options;
  bool json = false;
};

ExitCode validate(const ValidateArguments& arguments) {
  std::vector<std::string> warnings;
  const run::RunConfig config = run::load_config(arguments.config, arguments.options.overrides(), &warnings);
  const run::Estimate estimate = run::estimate(config);
  warnings.insert(warnings.end(), estimate.warnings.begin(), estimate.warnings.end());
  if (arguments.json) {
    const config::Json json{
        {"config", config.resolved()},
        {"estimate", {{"memory_bytes", estimate.memory}, {"disk_bytes", estimate.disk}, {"seconds", estimate.seconds}}},
        {"warnings", warnings}};
    fmt::print("{}\n", json.dump(2));
    return ExitCode::ok;
  }
  fmt::print("{}", config::to_yaml(config.resolved()));
  for (const std::string& warning : warnings) say("warning: {}\n", warning);
  say("{} is right: {}\n", arguments.config, estimate.text());
  return ExitCode::ok;
}

}  // namespace

Action add_validate(CLI::App& verb) {
  const auto arguments = std::make_shared<ValidateArguments>();
  verb.add_option("config", arguments->config, "YAML file")->required()->type_name("CONFIG");
  verb.add_flag("--json", arguments->json, "resolved config, estimates and warnings as JSON");
  arguments->options.add(verb);
  return [arguments] { return validate(*arguments); };
}

}  // namespace gaussflow::app
