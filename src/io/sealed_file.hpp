#pragma once
/// HDF5 files of ours that must never be misread: a seal in the user block before HDF5's first byte holds size and SHA-256
/// of the rest. It is checked before the library sees the file, whose parser crashes on some damaged ones.

#include "gaussflow/core/error.hpp"

#include "io/hdf5_reader.hpp"
#include "io/hdf5_writer.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace gaussflow::io {

struct Seal {
  std::string format;        ///< "gaussflow-checkpoint"
  std::int64_t version = 1;  ///< of the format
  std::int64_t step = 0;     ///< what the file is about, readable without HDF5
};

/// Writes `file` by `write` and seals it: replace_file, with `verify(temporary)` before the rename.
void write_sealed(const std::filesystem::path& file, const Seal& seal, std::int64_t reserve,
                  const std::function<void(hdf5::Writer&)>& write,
                  const std::function<void(const std::filesystem::path&)>& verify);

/// A file that could be read and is not what it was, or never was what it should be.
class DamagedError : public InputError {
 public:
  using InputError::InputError;
};

/// The seal as it stands, unverified, whatever its version.   Throws DamagedError when there is none of this format.
Seal read_seal(const std::filesystem::path& file, const Seal& expected);

/// Checks that not a bit has changed since the seal.
/// Throws  DamagedError: as read_seal, wrong length, wrong digest; InputError: unreadable, a newer version.
void verify_seal(const std::filesystem::path& file, const Seal& expected);

}  // namespace gaussflow::io
