#pragma once
/// Plain arrays by name, what `gaussflow sum` reads and writes.

#include "gaussflow/core/tensor.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace gaussflow::io {

/// Is `path` a dataset in `file`, or a link that should lead to one (read_array then says why it does not)?
/// Throws  InputError when the file itself cannot be read.
bool has_dataset(const std::filesystem::path& file, const std::string& path);

/// Arrays by name: the datasets of an HDF5 file, or what numpy.savez writes.
class ArrayFile {
 public:
  /// Throws  InputError when the file cannot be read, or holds a single array or a table: says what would do.
  explicit ArrayFile(std::filesystem::path file);

  const std::filesystem::path& path() const { return path_; }
  /// A .npz archive: its arrays are read whole.
  bool archive() const { return archive_; }
  bool has(const std::string& name) const;
  /// Throws  InputError as read_array.
  Tensor read(const std::string& name) const;
  /// The root attribute (of an archive: the array of one number); empty when there is none.
  /// Throws  InputError when it is something else than one number.
  std::optional<double> number(const std::string& name) const;

 private:
  std::filesystem::path path_;
  bool archive_ = false;
};

/// Writes arrays under their paths with root attributes, atomically.   Throws IoError.
void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts);

}  // namespace gaussflow::io
