#pragma once
/// What an HDF5 file holds, without reading its data: for `inspect`.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gaussflow::io {

struct Hdf5Attribute {
  std::string name;
  std::string type;                 ///< "fp64", "text" …
  std::vector<std::int64_t> shape;  ///< empty: one value
  std::string value;                ///< as text, of one value or a few; else empty
};

struct Hdf5Entry {
  enum class Kind { group, dataset, datatype, soft_link, outside_link, unreadable };
  std::string path;
  Kind kind = Kind::group;
  std::string type;                 ///< of a dataset: "fp64", "int16 big-endian", "text" …
  std::vector<std::int64_t> shape;  ///< of a dataset
  std::vector<std::string> texts;   ///< of a short dataset of text
  std::string storage;              ///< of a dataset: "contiguous", "chunks [100, 2], shuffle, deflate"
  std::string target;               ///< of a link
  std::string refusal;              ///< why this dataset cannot be samples (empty: it can), or this object not be read
  std::vector<Hdf5Attribute> attributes;
};

struct Hdf5Listing {
  std::vector<Hdf5Entry> entries;  ///< the root first, then by path; an object of several links once
  bool complete = true;            ///< false when there are more than were asked for
};

/// Throws  InputError when the file cannot be opened, as read_samples does.
Hdf5Listing list_hdf5(const std::filesystem::path& file, std::size_t limit = 10000);

}  // namespace gaussflow::io
