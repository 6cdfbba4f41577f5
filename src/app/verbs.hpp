#pragma once
/// The verbs of the command line, one file each. Every `add_…` declares options and returns what to do once they are parsed.

#include "gaussflow/core/error.hpp"

#include <CLI/CLI.hpp>

#include <functional>

namespace gaussflow::app {

using Action = std::function<ExitCode()>;

Action add_run(CLI::App& verb);
Action add_resume(CLI::App& verb);
Action add_validate(CLI::App& verb);
Action add_describe(CLI::App& verb);
Action add_inspect(CLI::App& verb);
Action add_import(CLI::App& verb);
Action add_sum(CLI::App& verb);

}  // namespace gaussflow::app
