#include "gaussflow/io/array_file.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/durable.hpp"
#include "gaussflow/io/hdf5.hpp"
#include "gaussflow/io/sample_file.hpp"

#include "io/crash_guard.hpp"
#include "io/file_kind.hpp"
#include "io/hdf5_reader.hpp"
#include "io/sealed_file.hpp"
#include "io/table_reader.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gaussflow::io {

bool has_dataset(const std::filesystem::path& file, const std::string& path) {
  const CrashGuard guard(file);
  return hdf5::Reader(file).has_dataset(path);
}

ArrayFile::ArrayFile(std::filesystem::path file) : path_(std::move(file)) {
  const FileKind kind = file_kind(open_regular(path_));
  archive_ = kind == FileKind::zip;
  if (kind == FileKind::npy || kind == FileKind::text)
    throw InputError(fmt::format(
        "{} is {}: arrays by name are needed, an HDF5 file or, in Python, numpy.savez('arrays.npz', q=q, k=k, v=v, tau=1.0)",
        path_.string(), kind == FileKind::npy ? "a single NumPy array" : "text"));
}

bool ArrayFile::has(const std::string& name) const {
  if (!archive_) return has_dataset(path_, "/" + name);
  const std::vector<std::string> names = npz_names(path_);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Tensor ArrayFile::read(const std::string& name) const {
  return archive_ ? read_npz_array(path_, name) : read_array({path_, "/" + name});
}

std::optional<double> ArrayFile::number(const std::string& name) const {
  if (archive_) {
    if (!has(name)) return std::nullopt;
    const Tensor value = read(name);
    if (value.numel() == 1) return value.item<double>();
    throw InputError(
        fmt::format("{}: the array '{}' has shape {}, one number is needed", path_.string(), name, shape_text(value)));
  }
  {
    const CrashGuard guard(path_);
    const hdf5::Reader file(path_);
    if (const auto value = hdf5::number_attribute(file.object("/"), name)) return value;
  }
  const Hdf5Listing root = list_hdf5(path_, 1);
  for (const Hdf5Attribute& found : root.entries.front().attributes)
    if (found.name == name)
      throw InputError(fmt::format(
          "{}: the root attribute '{}' is {}{}{}, one number is needed, in h5py: f.attrs['{}'] = 1.0", path_.string(), name,
          found.type, found.shape.empty() ? "" : fmt::format(" of shape [{}]", fmt::join(found.shape, ", ")),
          found.value.empty() ? "" : fmt::format(" ({})", printable(found.value)), name));
  return std::nullopt;
}

void write_arrays(const std::filesystem::path& file, const std::map<std::string, Tensor>& arrays,
                  const std::map<std::string, double>& numbers, const std::map<std::string, std::string>& texts) {
  std::size_t bytes = 1 << 15;
  for (const auto& [path, array] : arrays) bytes += array.nbytes() + 1024;
  write_sealed(file, {"gaussflow-sums", 1, 0}, static_cast<std::int64_t>(bytes), arrays, [&](hdf5::Writer& writer) {
    for (const auto& [path, array] : arrays) writer.tensor(path, array);
    for (const auto& [name, value] : numbers) writer.attribute("/", name, value);
    for (const auto& [name, value] : texts) writer.attribute("/", name, value);
  });
}

}  // namespace gaussflow::io
