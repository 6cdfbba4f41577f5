#pragma once
/// Runs a config in a folder: start or go on, step, record, checkpoint, stop cleanly.

#include "gaussflow/core/error.hpp"

#include "run/config.hpp"
#include "run/progress.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow::run {

enum class ResumeMode { never, automatic, require };

/// What a command asks for beside the config.
struct Request {
  std::filesystem::path directory;
  bool overwrite = false;
  std::optional<double> max_walltime;  ///< seconds
  ProgressMode progress = ProgressMode::automatic;
  bool quiet = false;                   ///< no summary
  std::vector<std::string> warnings{};  ///< that the config has given rise to, for the log
};

/// A fresh run. `config_text` is kept as config.yaml.
ExitCode start(const RunConfig& config, const std::string& config_text, const Request& request);

/// Goes on with the run in request.directory. With a `config`, its fixed keys must be those of the run; without one the run's
/// own config is used with `overrides`, and `count` replaces step.count (or, `extend`, is added to it).
struct Continuation {
  const RunConfig* config = nullptr;
  std::vector<Override> overrides;
  std::optional<std::int64_t> until_step;
  std::optional<std::int64_t> extend_by;
};
ExitCode resume(const Continuation& continuation, const Request& request);

/// Did the run in this folder ever write a checkpoint, whatever became of it?
bool can_resume(const std::filesystem::path& directory);

}  // namespace gaussflow::run
