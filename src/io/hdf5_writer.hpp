#pragma once
/// Writing a new file: every write, flush and close is checked. All errors are IoError.

#include "gaussflow/core/tensor.hpp"

#include "io/hdf5_handle.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaussflow::io::hdf5 {

class Writer {
 public:
  struct Options {
    std::int64_t user_block = 0;  ///< bytes left free before HDF5's own (0, or a power of two from 512)
    std::int64_t reserve = 0;     ///< bytes of disk to claim before anything is written
  };
  /// Truncates `file`; `shown` is its name for messages, the one that it will be renamed to.
  Writer(const std::filesystem::path& file, std::filesystem::path shown, const Options& options);

  void group(const std::string& path);
  void tensor(const std::string& path, const Tensor& values);
  /// [F, …] in chunks of one frame with shuffle, deflate 1 and fletcher32.
  void frames(const std::string& path, const Tensor& values);
  void text(const std::string& path, const std::string& value);
  void texts(const std::string& path, const std::vector<std::string>& values);
  void link(const std::string& existing, const std::string& path);

  /// Attributes of the object at `path`.
  void attribute(const std::string& path, const std::string& name, const std::string& value);
  void attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values);
  void attribute(const std::string& path, const std::string& name, double value);
  void attribute(const std::string& path, const std::string& name, std::int64_t value);
  void attribute(const std::string& path, const std::string& name, const std::vector<std::int64_t>& values);

  /// Flushes and closes; what the library could not write is an error here.
  void close();

 private:
  void require(bool good, const std::string& what) const;
  void write(const std::string& path, hid_t file_type, hid_t memory_type, hid_t space, hid_t properties, const void* data);
  void write_attribute(const std::string& path, const std::string& name, hid_t file_type, hid_t memory_type, hid_t space,
                       const void* data);

  std::filesystem::path shown_;
  Handle file_;
};

}  // namespace gaussflow::io::hdf5
