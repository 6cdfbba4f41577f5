#include "run/resumption.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>
#include <vector>

namespace gaussflow::run {

namespace {

/// particles.init of a new run.
std::string from_here(const std::string& folder) { return config::to_yaml_flow({{"run", folder}}); }

/// "samples [2000, 2] 9f86…".
std::string target_text(const TargetRecord& record) {
  return fmt::format("{} [{}] {}", record.kind, fmt::join(record.shape, ", "), record.digest);
}

/// Where nothing is left that could be gone on from, says so.
io::Found newest_checkpoint(const Directory& directory) {
  try {
    return io::newest_checkpoint(directory.checkpoints());
  } catch (const CheckpointError& error) {
    if (!io::list_checkpoints(directory.checkpoints()).empty()) throw;
    throw CheckpointError(
        fmt::format("{}\nThere is nothing to go on from. To start anew: gaussflow run CONFIG -o {} --overwrite",
                    error.what(), shell_quoted(directory.path().string())));
  }
}

}  // namespace

Resumption find_resumption(const Continuation& continuation, const Directory& directory, const std::string& folder) {
  io::Found found = newest_checkpoint(directory);
  const config::Node stored =
      config::parse_yaml(found.checkpoint.config, found.file.filename().string() + ":/config", directory.path());
  const RunConfig before = read_config(stored);

  RunConfig config = before;
  if (continuation.config) {
    config = *continuation.config;
    if (!config.horizon_given) config.step.horizon = before.step.horizon;
  } else if (!continuation.overrides.empty()) {
    config = read_config(stored, continuation.overrides);
  }
  if (continuation.until_step) config.step.count = *continuation.until_step;
  if (continuation.extend_by) config.step.count = found.checkpoint.state.step + *continuation.extend_by;

  if (const std::vector<Difference> changed = differences(before.fixed(), config.fixed()); !changed.empty()) {
    std::string text =
        fmt::format("{} was started with other settings; these may not change within a run:\n  {:<32} {:<28} {}\n", folder,
                    "key", "in the run", "asked for");
    for (const Difference& d : changed) text += fmt::format("  {:<32} {:<28} {}\n", d.key, d.before, d.now);
    throw CheckpointError(text +
                          fmt::format("To start a new run from these particles: particles.init: {}", from_here(folder)));
  }
  return {before, std::move(config), std::move(found)};
}

bool has_ended(const Directory& directory) {
  const std::optional<config::Json> status = read_status(directory.path());
  return status && status->value("status", "") != "running" && fs::exists(directory.samples());
}

void check_files(const RunConfig& config, const std::string& folder) {
  const auto missing = config.missing_files();
  if (missing.empty()) return;
  std::string text, command = "gaussflow resume " + shell_quoted(folder);
  for (const auto& [key, ref] : missing) {
    text += fmt::format("{} does not exist{}\n", ref.file.string(), file_suggestion(ref.file));
    command += " --set " + shell_quoted(fmt::format("{}={}", key, DataRef{"NEW", ref.dataset}.text()));
  }
  throw InputError(fmt::format("{}If {} was moved, say where the data are now: {}", text, folder, command));
}

void check_target(const TargetRecord& now, const TargetRecord& before, const std::string& folder) {
  if (now == before) return;
  throw CheckpointError(
      fmt::format("the target's data changed since {} was started:\n  in the run  {}\n  now         {}\n"
                  "Put the old file back, or start a new run with particles.init: {}",
                  folder, target_text(before), target_text(now), from_here(folder)));
}

}  // namespace gaussflow::run
