#pragma once
/// The folder of one run: who may enter, what lies where.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/io/durable.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace gaussflow::run {

namespace fs = std::filesystem;

/// What is in a folder that a run is to use.
enum class Content { nothing, run, foreign };
Content content_of(const fs::path& directory);

class Directory {
 public:
  /// Makes (if needed) and locks `directory` for a fresh run.
  /// Throws  BusyError when another process holds it, when a run is there and `overwrite` is false (says the ways on), or
  ///         when it holds foreign files (never overwritten); IoError when it cannot be written.
  static Directory create(const fs::path& directory, bool overwrite);

  /// Locks the folder of an existing run. Throws CheckpointError when there is no run in it, BusyError when it is held.
  static Directory open(const fs::path& directory);

  const fs::path& path() const { return path_; }
  fs::path config() const { return path_ / "config.yaml"; }
  fs::path resolved() const { return path_ / "config.resolved.yaml"; }
  fs::path provenance() const { return path_ / "provenance.json"; }
  fs::path status() const { return path_ / "status.json"; }
  fs::path samples() const { return path_ / "samples.h5"; }
  fs::path metrics() const { return path_ / "metrics.csv"; }
  fs::path log() const { return path_ / "log.jsonl"; }
  fs::path checkpoints() const { return path_ / "checkpoints"; }
  fs::path trajectory() const { return path_ / "trajectory"; }

  /// One line of log.jsonl; non-finite numbers become null. A log that cannot be written does not stop a run.
  void log_event(const std::string& event, config::Json details) const;

 private:
  Directory(fs::path path, io::DirectoryLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  fs::path path_;
  io::DirectoryLock lock_;
};

/// status.json of a run directory, nullopt when there is none that can be read.
std::optional<config::Json> read_status(const fs::path& directory);

}  // namespace gaussflow::run
