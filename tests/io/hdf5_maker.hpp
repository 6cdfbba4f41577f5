#pragma once
/// Makes HDF5 files that no well-meaning program would write, by the C library itself.

#include "io/hdf5_handle.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace support {

using gaussflow::io::hdf5::Handle;

class Maker {
 public:
  explicit Maker(const std::filesystem::path& file);

  hid_t id() const { return file_; }
  void group(const std::string& path);
  /// A dataset of `stored` type holding `values` (of `memory` type); properties as given.
  void dataset(const std::string& path, const std::vector<hsize_t>& shape, hid_t stored, hid_t memory, const void* values,
               hid_t properties = H5P_DEFAULT);
  /// fp64, values 0, 1, 2 … when none are given.
  void doubles(const std::string& path, const std::vector<hsize_t>& shape, std::vector<double> values = {},
               hid_t properties = H5P_DEFAULT);
  void number_attribute(const std::string& path, const std::string& name, double value);
  void text_attribute(const std::string& path, const std::string& name, const std::string& value);

 private:
  Handle file_;
};

/// Creation properties of a chunked dataset.
Handle chunked(const std::vector<hsize_t>& chunk);

}  // namespace support
