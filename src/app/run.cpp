#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/durable.hpp"

#include "app/options.hpp"
#include "app/verbs.hpp"
#include "run/estimate.hpp"
#include "run/runner.hpp"
#include "run/signals.hpp"

#include <fmt/format.h>

#include <memory>

namespace gaussflow::app {

namespace {

struct RunArguments {
  std::string config;
  std::string directory;
  std::string steps;
  std::string seed;
  std::string resume = "never";
  bool overwrite = false;
  bool dry_run = false;
  ConfigOptions options;
  WatchOptions watch;
};

run::ResumeMode resume_mode(const std::string& word) {
  const std::vector<std::string> words{"never", "auto", "require"};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (word == words[i]) return static_cast<run::ResumeMode>(i);
  throw UsageError(fmt::format("--resume must be {}, got '{}'{}", either(words), word, suggestion(word, words)));
}

ExitCode run_config(const RunArguments& arguments) {
  std::vector<run::Override> overrides = arguments.options.overrides();
  if (!arguments.steps.empty())
    overrides.push_back({fmt::format("step.count={}", integer_option("--steps", arguments.steps, 0)), "--steps"});
  if (!arguments.seed.empty())
    overrides.push_back({fmt::format("seed={}", integer_option("--seed", arguments.seed, 0)), "--seed"});
  const run::ResumeMode mode = resume_mode(arguments.resume);
  run::Request request{.overwrite = arguments.overwrite,
                       .max_walltime = arguments.watch.max_walltime(),
                       .progress = arguments.watch.progress(),
                       .quiet = arguments.watch.quiet()};
  std::vector<std::string> warnings;
  const run::RunConfig config = run::load_config(arguments.config, overrides, &warnings);
  for (const std::string& warning : warnings) say("warning: {}\n", warning);
  request.warnings = warnings;
  request.directory = arguments.directory.empty() ? std::filesystem::path("runs") / *config.name
                                                  : std::filesystem::path(arguments.directory);
  if (arguments.dry_run) {
    const run::Estimate estimate = run::estimate(config);
    for (const std::string& warning : estimate.warnings) say("warning: {}\n", warning);
    say("{} is right; it would run in {}: {}\n", arguments.config, request.directory.string(), estimate.text());
    return ExitCode::ok;
  }
  run::install_signal_handlers();
  const bool there = run::can_resume(request.directory);
  if (mode == run::ResumeMode::require && !there)
    throw CheckpointError(fmt::format("--resume require: there is no checkpoint in {}; --resume auto would start the run",
                                      request.directory.string()));
  if (mode != run::ResumeMode::never && there) return run::resume({.config = &config}, request);
  // Killed before its first checkpoint: nothing is lost by starting again.
  if (mode == run::ResumeMode::automatic) request.overwrite = true;
  return run::start(config, io::read_text(arguments.config).value_or(""), request);
}

}  // namespace

Action add_run(CLI::App& verb) {
  const auto arguments = std::make_shared<RunArguments>();
  verb.add_option("config", arguments->config, "YAML file (gaussflow describe shows what it may say)")
      ->required()
      ->type_name("CONFIG");
  verb.add_option("-o,--output", arguments->directory, "run directory (default: runs/<name>)")->type_name("DIR");
  verb.add_option("--steps", arguments->steps, "total number of steps (step.count)")->type_name("N");
  verb.add_option("--seed", arguments->seed, "seed of all random numbers")->type_name("N");
  verb.add_option("--resume", arguments->resume, "never; auto: go on if a checkpoint is there, else start; require")
      ->type_name("MODE");
  verb.add_flag("--overwrite", arguments->overwrite, "replace a run that is there");
  verb.add_flag("--dry-run", arguments->dry_run, "check everything that can be checked, run nothing");
  arguments->options.add(verb);
  arguments->watch.add(verb);
  return [arguments] { return run_config(*arguments); };
}

}  // namespace gaussflow::app
