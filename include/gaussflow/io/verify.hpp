#pragma once
/// What a file says of itself, seals and digests, held against what it is: for `inspect --verify`.

#include <filesystem>
#include <string>
#include <vector>

namespace gaussflow::io {

/// A file of ours by its seal, whatever its name and however damaged the rest.
enum class FileFormat { checkpoint, other };
/// Throws  InputError when the file cannot be read.
FileFormat format_by_seal(const std::filesystem::path& file);

struct Verification {
  std::vector<std::string> verified;  ///< what held: "seal", "/samples"; empty when there was nothing to hold against
  std::vector<std::string> problems;  ///< messages
};

/// Checks the seal, and only behind a good one (or none) what HDF5 says: the digests of state, frames and datasets.
/// Throws  InputError when the file is not there, not readable, or neither HDF5 nor sealed.
Verification verify_file(const std::filesystem::path& file);

}  // namespace gaussflow::io
