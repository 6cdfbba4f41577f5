#pragma once
/// What a run can go on from, and whether what is asked of it and its data are still those of the run.

#include "gaussflow/core/state.hpp"
#include "gaussflow/io/checkpoint.hpp"

#include "run/config.hpp"
#include "run/directory.hpp"
#include "run/runner.hpp"

#include <string>

namespace gaussflow::run {

struct Resumption {
  RunConfig before;  ///< the run's own
  RunConfig config;  ///< with what the continuation changes
  io::Found found;
};

/// The newest good checkpoint of the run in `directory`, which messages call `folder`.
/// Throws  CheckpointError when there is none, or when the continuation changes a fixed key; ConfigError.
Resumption find_resumption(const Continuation& continuation, const Directory& directory, const std::string& folder);

/// Was a run's end written, samples and all? A kill may come between the last checkpoint and them.
bool has_ended(const Directory& directory);

/// A folder that moved to another depth, or away from its data, does not find them: says how to name them anew.
void check_files(const RunConfig& config, const std::string& folder);

/// Throws  CheckpointError when the target's data are not those that the run was started with.
void check_target(const TargetRecord& now, const TargetRecord& before, const std::string& folder);

}  // namespace gaussflow::run
