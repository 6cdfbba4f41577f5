#pragma once
/// HDF5 files of ours that must never be misread: a seal in the user block before HDF5's first byte holds size and SHA-256
/// of the rest. It is checked before the library sees the file, whose parser crashes on some damaged ones.

#include "gaussflow/core/error.hpp"

#include "io/hdf5_reader.hpp"
#include "io/hdf5_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace gaussflow::io {

struct Seal {
  std::string format;        ///< "gaussflow-checkpoint"
  std::int64_t version = 1;  ///< of the format
  std::int64_t step = 0;     ///< what the file is about, readable without HDF5
};

/// Arrays of a file, by their paths.
using Arrays = std::map<std::string, Tensor>;

/// Writes `file` by `write`, reads back that it holds `arrays`, and seals it, all before the rename of replace_file.
void write_sealed(const std::filesystem::path& file, const Seal& seal, std::int64_t reserve, const Arrays& arrays,
                  const std::function<void(hdf5::Writer&)>& write);

/// The library has returned success for a close that lost data, so what was written is read.
/// Throws  IoError when `file` (to be called `shown`) does not hold these arrays.
void check_written(const std::filesystem::path& file, const std::filesystem::path& shown, const Arrays& arrays);

/// A file that could be read and is not what it was, or never was what it should be.
class DamagedError : public InputError {
 public:
  using InputError::InputError;
};

/// The seal as it stands, unverified, whatever its version.
/// Throws  DamagedError when there is none of this format; InputError while another process has the file open for writing.
Seal read_seal(const std::filesystem::path& file, const Seal& expected);

/// Checks that not a bit has changed since the seal.
/// Throws  DamagedError: as read_seal, wrong length, wrong digest; InputError: unreadable, held, a newer version.
void verify_seal(const std::filesystem::path& file, const Seal& expected);

/// What a seal at the start of any file says that it is ("gaussflow-samples"), unverified; nullopt where there is none.
/// A seal of which one line is damaged is still taken for one.
std::optional<std::string> sealed_format(const std::filesystem::path& file);

/// Checks the seal of a file that need not have one.
/// Throws  DamagedError: not what was sealed, by damage or by an edit; InputError: unreadable, changed and held by a writer.
void check_own_seal(const std::filesystem::path& file);

}  // namespace gaussflow::io
