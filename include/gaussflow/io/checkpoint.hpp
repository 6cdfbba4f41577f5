#pragma once
/// One self-contained file from which a run goes on bit for bit.

#include "gaussflow/core/state.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace gaussflow::io {

struct Checkpoint {
  State state;
  std::string config;                             ///< resolved config as YAML, /config
  std::string fixed;                              ///< canonical text of the fixed keys, part of state_sha256
  TargetRecord target;                            ///< /target
  std::map<std::string, std::string> provenance;  ///< root attributes: version, revision, torch, device, backend, threads …
  std::string state_sha256;                       ///< filled by write and read
};

/// SHA-256 over name, dtype, shape and bytes of everything under /state, the target record and the fixed keys: equal for
/// equal state whatever the threads, the machine or a later extension.
std::string state_digest(const Checkpoint& checkpoint);

/// Version of the layout that this program writes and the newest it reads.
inline constexpr int checkpoint_version = 1;

/// "ckpt-000000012000.h5"
std::string checkpoint_name(std::int64_t step);

/// Writes `directory`/checkpoint_name(step) atomically: reserve → temporary file → every write, flush and close checked →
/// read back → seal → fsync → rename → fsync of the folder. Returns the path; fills state_sha256.
/// Throws  NumericalError when a particle is not finite (a good file is never replaced by a bad one);
///         IoError with needed and free bytes when the disk is full; nothing half-written stays.
std::filesystem::path write_checkpoint(const std::filesystem::path& directory, Checkpoint& checkpoint);

/// Reads and verifies the seal of the whole file, then the digest of the state.
/// Throws  CheckpointError: not regular, not HDF5, truncated, another kind of file (says what is missing), a newer format,
///         damaged (says which digest differs), wrong type or absurd size of an entry.
Checkpoint read_checkpoint(const std::filesystem::path& file);

/// The checkpoints in `directory`, newest first by the step in their names, unread; none when there is no such folder.
/// Throws  IoError when it cannot be listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& directory);

/// What newest_checkpoint may do to the folder.
enum class Repair {
  none,    ///< nothing: for those who do not hold the lock
  rename,  ///< a bad checkpoint becomes *.bad, temporary files of a killed process go
};

/// The newest checkpoint that verifies, by the step inside; bad ones are passed over and said in `notes`.
/// Throws  CheckpointError when none verifies, or one cannot be read for another reason than damage (permission, a format
///         newer than this program: going back behind it would lose work).
struct Found {
  std::filesystem::path file;
  Checkpoint checkpoint;
  std::vector<std::string> notes;
};
Found newest_checkpoint(const std::filesystem::path& directory, Repair repair = Repair::rename);

}  // namespace gaussflow::io
