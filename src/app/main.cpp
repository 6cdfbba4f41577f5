/// gaussflow: parses the command line, runs one verb, turns every error into one message and an exit code.

#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/core/version.hpp"

#include "app/verbs.hpp"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

/// Idle OpenMP threads sleep instead of spinning: on a machine that is shared, a spinning barrier turns 2 ms into 60. libgomp
/// reads this when it is loaded, which only functions of .preinit_array precede. The user's own setting wins.
void wait_passively(int, char**, char**) { setenv("OMP_WAIT_POLICY", "passive", /*overwrite=*/0); }
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = wait_passively;

}  // namespace

namespace gaussflow::app {

namespace {

struct Verb {
  const char* name;
  const char* help;
  Action (*add)(CLI::App&);
};

constexpr Verb verbs[] = {
    {"run", "run a config: YAML in, particles out", add_run},
    {"resume", "go on with an interrupted or finished run", add_resume},
    {"validate", "check a config and show it complete", add_validate},
    {"describe", "flows, targets, steppers and their keys", add_describe},
    {"inspect", "look into a run, a checkpoint or any HDF5 file", add_inspect},
    {"import", "check samples and write a clean copy", add_import},
    {"sum", "evaluate the Gauss sum itself on arrays from a file", add_sum},
};

/// "run: unknown option '--stesp' (did you mean '--steps'?)".
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const auto chosen = app.get_subcommands();
  std::vector<std::string> known;
  if (chosen.empty()) {
    for (const Verb& verb : verbs) known.emplace_back(verb.name);
    if (argc > 1 && argv[1][0] != '-')
      return fmt::format("unknown command '{0}'{1}: use {2}", argv[1], suggestion(argv[1], known), either(known));
    if (argc <= 1) return fmt::format("no command: use {} (gaussflow --help says more)", either(known));
    return fmt::format("'{}' is no option here: use {}", argv[1], either(known));
  }
  for (const CLI::Option* option : chosen.front()->get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.starts_with("--") && word.size() > 2 && std::find(known.begin(), known.end(), word) == known.end())
      return fmt::format("{}: unknown option '{}'{}", chosen.front()->get_name(), word, suggestion(word, known));
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return fmt::format("{}: '{}' is not expected; a name with spaces needs quotes", chosen.front()->get_name(),
                       fmt::join(chosen.front()->remaining(), "', '"));
  return fmt::format("{}: {}", chosen.front()->get_name(), error.what());
}

/// `--steps "$STEPS"` with the variable not set is a mistake, not the default.
void refuse_empty_values(CLI::App& verb) {
  const auto reason = [](const std::string& text) {
    return text.empty() ? std::string("its value is empty: give one, or leave the option out") : std::string();
  };
  for (CLI::Option* option : verb.get_options())
    if (option->get_items_expected_max() > 0) option->check(reason, "");
}

int report(const std::string& message, ExitCode code) {
  say("gaussflow: {}\n", message);
  return static_cast<int>(code);
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Moves clouds of particles: samples of a posterior (SVGD), or a cloud transported onto data (MMD flow).",
               "gaussflow");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("gaussflow {} ({}), LibTorch {}", version(), revision(), torch_version()));
  app.footer("Start with: gaussflow run configs/quickstart.yaml");
  std::vector<Action> actions;
  for (const Verb& verb : verbs) {
    CLI::App& added = *app.add_subcommand(verb.name, verb.help);
    actions.push_back(verb.add(added));
    refuse_empty_values(added);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help and --version were asked for: stdout, exit 0
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return report(explain(app, error, argc, argv), ExitCode::usage);
  }
  for (std::size_t i = 0; i < std::size(verbs); ++i)
    if (app.got_subcommand(verbs[i].name)) return static_cast<int>(actions[i]());
  return static_cast<int>(ExitCode::bug);
}

}  // namespace

}  // namespace gaussflow::app

int main(int argc, char** argv) {
  using namespace gaussflow;
  try {
    const int code = app::parse_and_run(argc, argv);
    // A closed or full stdout is an error for the verbs whose product goes there.
    if (std::fflush(stdout) != 0 && code == 0) return app::report("cannot write to standard output", ExitCode::io);
    return code;
  } catch (const Error& error) {
    return app::report(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    return app::report("out of memory. Fewer particles, or target.batch, need less", ExitCode::device);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    const bool memory = text.find("allocate memory") != std::string::npos || text.find("out of memory") != std::string::npos;
    return app::report(memory ? "out of memory: " + text : "internal error, please report it: " + text,
                       memory ? ExitCode::device : ExitCode::bug);
  } catch (const std::system_error& error) {  // fmt::print to a stdout that is closed or full
    return app::report(fmt::format("cannot write to standard output: {}", error.code().message()), ExitCode::io);
  } catch (const std::exception& error) {
    return app::report(std::string("internal error, please report it: ") + error.what(), ExitCode::bug);
  }
}
