#pragma once
/// Strict reading: every step from the file's name to its numbers is checked before it is taken. All errors are InputError.

#include "gaussflow/core/tensor.hpp"

#include "io/hdf5_handle.hpp"
#include "io/hdf5_type.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow::io::hdf5 {

/// An open dataset and what is known of it before its data are read.
struct Dataset {
  Handle id;
  Handle type;
  TypeInfo info;
  bool null = false;  ///< a null dataspace: not even a shape
  std::vector<std::int64_t> shape;
  std::string path;   ///< as asked for
  std::string where;  ///< "moons.h5:/x", for messages

  std::int64_t count() const;  ///< elements; INT64_MAX when they are more
};

enum class LinkKind { hard, soft, external, other };

struct Link {
  std::string name;
  LinkKind kind = LinkKind::hard;
  std::string target;  ///< of a soft link: the path; of an external one: FILE:PATH
};

/// Whether the seal that a file of ours carries (sealed_file.hpp) is to be checked or was checked just now.
enum class Seals { check, checked };

class Reader {
 public:
  /// Opens a regular file.  Throws InputError: missing, not regular, not HDF5, not what was sealed, truncated, open for
  /// writing elsewhere, too new.
  explicit Reader(std::filesystem::path file, Seals seals = Seals::check);

  hid_t id() const { return file_; }
  const std::filesystem::path& path() const { return path_; }
  /// "moons.h5:/x"
  std::string where(const std::string& path) const;

  /// The path of hard links that `path` leads to. Every component is looked at before it is followed: links out of the file,
  /// dangling links and circles are refused, with the names that are there.
  std::string resolve(const std::string& path) const;
  /// Whether `path` is a dataset, or a link that should lead to one and does not: dataset() then says why not.
  bool has_dataset(const std::string& path) const;
  Dataset dataset(const std::string& path) const;
  Handle object(const std::string& path) const;

  /// The links of a group, by name; at most `limit`.
  std::vector<Link> links(const std::string& group, std::size_t limit) const;
  /// Paths of all datasets below `group`, each once however many links lead to it; at most `limit`.
  std::vector<std::string> datasets(const std::string& group, std::size_t limit) const;
  /// "it holds /train [10, 2] fp64, /test [5, 2] fp64", for messages.
  std::string contents(const std::string& group = "/") const;

 private:
  std::string resolve(const std::string& path, int depth) const;
  Link link(const std::string& path) const;

  std::filesystem::path path_;
  Handle file_;
};

/// "/a//b/" → "/a/b".
std::string normal_path(const std::string& path);

/// Refuses storage that would be misread: data outside the file, virtual, filters that are not here, chunks never written.
void check_storage(const Dataset& dataset);

/// Refuses a dataset whose declared size times `copies` in `element` bytes is more than there is memory.   Throws
/// DeviceError.
void check_memory(const Dataset& dataset, std::size_t element, double copies = 1);

/// The numbers, converted by the library to `dtype`; storage and memory must have been checked.
Tensor read(const Dataset& dataset, at::ScalarType dtype);

/// The same for entries [first, first + count) of one axis.
Tensor read_slab(const Dataset& dataset, at::ScalarType dtype, std::int64_t axis, std::int64_t first, std::int64_t count);

/// The same for integers of 64 bits: of unsigned ones the bits.
Tensor read_integers(const Dataset& dataset);

/// Whether a dataset holds exactly these values: dtype, shape and bits, compared in blocks so that it costs no memory.
bool holds(const Dataset& dataset, const Tensor& values);

/// The dtype that holds exactly what a file of ours stores.   Throws InputError for any other type.
at::ScalarType exact_dtype(const Dataset& dataset);

/// The lines of a dataset of text with at most one axis and `limit` bytes.
std::vector<std::string> read_texts(const Dataset& dataset, std::size_t limit = 1 << 26);

std::vector<std::string> attribute_names(hid_t object);
/// Empty when it is not there or not one value of that kind.
std::optional<std::string> text_attribute(hid_t object, const std::string& name);
std::optional<double> number_attribute(hid_t object, const std::string& name);
std::optional<std::vector<std::int64_t>> integers_attribute(hid_t object, const std::string& name);

}  // namespace gaussflow::io::hdf5
