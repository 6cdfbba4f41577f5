#include "app/options.hpp"
#include "app/verbs.hpp"
#include "run/runner.hpp"
#include "run/signals.hpp"

#include <memory>

namespace gaussflow::app {

namespace {

struct ResumeArguments {
  std::string directory;
  std::string until_step;
  std::string extend_by;
  ConfigOptions options;
  WatchOptions watch;
};

ExitCode resume_run(const ResumeArguments& arguments) {
  run::Continuation continuation{.overrides = arguments.options.overrides()};
  if (!arguments.until_step.empty() && !arguments.extend_by.empty())
    throw UsageError("--until-step and --extend-by are two ways to say one thing: keep one");
  if (!arguments.until_step.empty()) continuation.until_step = integer_option("--until-step", arguments.until_step, 0);
  if (!arguments.extend_by.empty()) continuation.extend_by = integer_option("--extend-by", arguments.extend_by, 0);
  run::install_signal_handlers();
  return run::resume(continuation, {.directory = arguments.directory,
                                    .max_walltime = arguments.watch.max_walltime(),
                                    .progress = arguments.watch.progress(),
                                    .quiet = arguments.watch.quiet()});
}

}  // namespace

Action add_resume(CLI::App& verb) {
  const auto arguments = std::make_shared<ResumeArguments>();
  verb.add_option("directory", arguments->directory, "run directory")->required()->type_name("DIR");
  verb.add_option("--until-step", arguments->until_step, "new total number of steps")->type_name("N");
  verb.add_option("--extend-by", arguments->extend_by, "this many steps more than the checkpoint has")->type_name("M");
  arguments->options.add(verb);
  arguments->watch.add(verb);
  return [arguments] { return resume_run(*arguments); };
}

}  // namespace gaussflow::app
