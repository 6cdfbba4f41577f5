#pragma once
/// A whole config: every section, resolved, with the part that a resumed run may not change.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/config/value.hpp"
#include "gaussflow/flow/options.hpp"
#include "gaussflow/flow/simulation.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow::run {

/// `output`: what is recorded, by steps so that a resumed run records the same.
struct OutputOptions {
  std::optional<std::int64_t> metrics;
  std::optional<std::int64_t> trajectory;
};

/// `checkpoint`.
struct CheckpointOptions {
  config::Interval every{.seconds = 300.0};
  std::int64_t keep = 2;
};

struct RunConfig {
  std::optional<std::string> name;
  std::int64_t seed = 0;
  config::Json meta = config::Json::object();  ///< the user's own notes, the only place for unknown keys
  ChosenFlow flow;
  ChosenTarget target;
  ParticleOptions particles;
  KernelOptions kernel;
  StepOptions step;
  ComputeOptions compute;
  OutputOptions output;
  CheckpointOptions checkpoint;
  bool horizon_given = false;  ///< step.horizon was written, not taken from the first count

  SimulationOptions simulation() const { return {kernel, step, compute, static_cast<std::uint64_t>(seed)}; }

  /// Every key, defaults included; reads back as the same run.
  config::Json resolved() const;
  /// The same with file paths relative to `directory`, so that the folder can move together with its data.
  config::Json relocated(const std::filesystem::path& directory) const;
  /// Files that the target is made of and that are not there, by the key that names each ("target.samples").
  std::vector<std::pair<std::string, DataRef>> missing_files() const;
  /// The keys of class `fixed` by dotted name; file paths are left out, digests speak for the data.
  config::Json fixed() const;
  /// The keys of class `bits`, likewise.
  config::Json bits() const;
};

/// All sections; those of flow, target and particles.init hold one section for each registered entry.
std::vector<config::KeyInfo> config_keys();

/// "step.count=5", from --set or from a flag that stands for the key.
struct Override {
  std::string assignment;
  std::string flag = {};  ///< "--steps"; empty: --set
};

/// A config with overrides, each relative to the current folder. Throws ConfigError with everything that is wrong in
/// both. Warnings go to `warnings`.
RunConfig read_config(config::Node root, const std::vector<Override>& overrides = {},
                      std::vector<std::string>* warnings = nullptr);

/// The same from a file, whose name is the default of `name`.
RunConfig load_config(const std::filesystem::path& file, const std::vector<Override>& overrides,
                      std::vector<std::string>* warnings = nullptr);

/// A complete config that `validate` accepts, as commented YAML: what `path` names (a section, a flow, target or start with its
/// dotted path; empty: every section) is written out with all its keys, the rest is short. Relative paths are those of a clone.
std::string example_config(const std::string& path);

/// Keys of class `fixed` whose values differ, as rows "key, in the run, asked for".
struct Difference {
  std::string key;
  std::string before;
  std::string now;
};
std::vector<Difference> differences(const config::Json& before, const config::Json& now);

}  // namespace gaussflow::run
