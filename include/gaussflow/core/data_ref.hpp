#pragma once
/// "moons.h5:/x": a file and a dataset in it.

#include <filesystem>
#include <string>

namespace gaussflow {

struct DataRef {
  std::filesystem::path file;
  std::string dataset;  ///< absolute HDF5 path; empty: the only candidate
  std::string text() const { return dataset.empty() ? file.string() : file.string() + ":" + dataset; }
  bool operator==(const DataRef&) const = default;
};

/// Splits FILE[:/dataset] at the longest prefix that is an existing file (names may hold colons); when there is none, at the
/// last ":/". A relative file is taken from `directory`.
DataRef parse_data_ref(const std::string& text, const std::filesystem::path& directory);

}  // namespace gaussflow
