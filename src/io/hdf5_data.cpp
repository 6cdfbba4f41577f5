#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/memory.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_reader.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace gaussflow::io::hdf5 {

namespace {

[[noreturn]] void refuse(const Dataset& dataset, const std::string& why) {
  throw InputError(fmt::format("{} {}", dataset.where, why));
}

/// Whether the library can decode what a filter made.
bool can_decode(H5Z_filter_t filter) {
  unsigned flags = 0;
  return H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &flags) >= 0 &&
         (flags & H5Z_FILTER_CONFIG_DECODE_ENABLED) != 0;
}

void check_filters(const Dataset& dataset, hid_t properties) {
  const int count = H5Pget_nfilters(properties);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 128> name{};
    const H5Z_filter_t filter = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &values, nullptr,
                                               name.size() - 1, name.data(), nullptr);
    if (filter < 0) refuse(dataset, fmt::format("cannot be read: {}", last_error()));
    if (!can_decode(filter))
      refuse(dataset,
             fmt::format("is stored with filter {} ({}), which this program does not have; write it again with gzip or "
                         "without compression, for instance h5repack -f GZIP=1 or compression='gzip' in h5py",
                         static_cast<int>(filter), name[0] == '\0' ? "no name" : name.data()));
  }
}

void check_virtual(const Dataset& dataset, hid_t properties) {
  std::size_t count = 0;
  H5Pget_virtual_count(properties, &count);
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < count && sources.size() < 5; ++i) {
    std::string name(4096, '\0');
    const ssize_t size = H5Pget_virtual_filename(properties, i, name.data(), name.size());
    name.resize(size < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(size), 4095));
    if (std::find(sources.begin(), sources.end(), name) == sources.end()) sources.push_back(name);
  }
  refuse(dataset,
         fmt::format("is a virtual dataset, a view of {}; parts that are missing there would be read as zeros, so only "
                     "data in the file itself are read: make a plain copy, in h5py: f['copy'] = f['{}'][()]",
                     fmt::join(sources, ", "), dataset.path));
}

std::vector<hsize_t> extent(const Dataset& dataset) { return {dataset.shape.begin(), dataset.shape.end()}; }

/// How many rows (of the first axis) lie in a chunk that was never written; -1 when there are too many chunks to ask.
std::int64_t rows_never_written(const Dataset& dataset, const std::vector<hsize_t>& chunk) {
  const std::vector<hsize_t> shape = extent(dataset);
  double chunks = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) chunks *= static_cast<double>((shape[i] + chunk[i] - 1) / chunk[i]);
  if (chunks > 2e4) return -1;  // the library looks each one up from the first: seconds here, hours for a million
  std::int64_t rows = 0;
  std::vector<hsize_t> offset(shape.size(), 0);
  for (offset[0] = 0; offset[0] < shape[0]; offset[0] += chunk[0]) {
    bool missing = false;
    std::fill(offset.begin() + 1, offset.end(), 0);
    for (bool more = true; more && !missing;) {
      unsigned mask = 0;
      haddr_t address = HADDR_UNDEF;
      hsize_t size = 0;
      missing = H5Dget_chunk_info_by_coord(dataset.id, offset.data(), &mask, &address, &size) < 0 || address == HADDR_UNDEF;
      more = false;
      for (std::size_t axis = shape.size() - 1; axis > 0 && !more; --axis) {  // odometer over the other axes
        offset[axis] += chunk[axis];
        more = offset[axis] < shape[axis];
        if (!more) offset[axis] = 0;
      }
    }
    if (missing) rows += static_cast<std::int64_t>(std::min(chunk[0], shape[0] - offset[0]));
  }
  return rows;
}

void check_written(const Dataset& dataset, hid_t properties) {
  if (dataset.count() == 0) return;
  constexpr const char* advice =
      "they would be read as the fill value. Store only what was written, in h5py: f[name].resize(n, axis=0)";
  if (H5Pget_layout(properties) != H5D_CHUNKED) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    if (H5Dget_space_status(dataset.id, &status) < 0 || status == H5D_SPACE_STATUS_NOT_ALLOCATED)
      refuse(dataset, fmt::format("was created with shape [{}] but never written", fmt::join(dataset.shape, ", ")));
    return;
  }
  std::vector<hsize_t> chunk(dataset.shape.size(), 1);
  if (H5Pget_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) < 0)
    refuse(dataset, fmt::format("cannot be read: {}", last_error()));
  const std::vector<hsize_t> shape = extent(dataset);
  double expected = 1;
  for (std::size_t i = 0; i < chunk.size(); ++i) expected *= static_cast<double>((shape[i] + chunk[i] - 1) / chunk[i]);
  const Handle space(H5Dget_space(dataset.id), H5Sclose);
  hsize_t written = 0;
  if (H5Dget_num_chunks(dataset.id, space, &written) < 0) refuse(dataset, fmt::format("cannot be read: {}", last_error()));
  if (static_cast<double>(written) >= expected) return;
  const std::int64_t rows = rows_never_written(dataset, chunk);
  if (rows < 0)
    refuse(dataset, fmt::format("has {:.0f} of {:.0f} chunks that were never written; {}",
                                expected - static_cast<double>(written), expected, advice));
  refuse(dataset, fmt::format("has {} of {} rows that were never written; {}", rows, dataset.shape[0], advice));
}

Tensor read_as(const Dataset& dataset, at::ScalarType dtype, hid_t type) {
  Tensor result = at::empty(dataset.shape, at::TensorOptions(dtype));
  if (result.numel() == 0) return result;
  CrashGuard::expect(static_cast<double>(result.nbytes()));
  if (H5Dread(dataset.id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, result.mutable_data_ptr()) < 0)
    refuse(dataset, fmt::format("cannot be read: {}; the file is damaged", last_error()));
  return result;
}

/// The part of a dataset from `start` on, `count` along each axis.
void read_block(const Dataset& dataset, hid_t type, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
                void* out) {
  const Handle space(H5Dget_space(dataset.id), H5Sclose);
  const Handle memory = dataspace(static_cast<int>(count.size()), count.data());
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
      H5Dread(dataset.id, type, memory, space, H5P_DEFAULT, out) < 0)
    refuse(dataset, fmt::format("cannot be read: {}; the file is damaged", last_error()));
}

}  // namespace

void check_storage(const Dataset& dataset) {
  const Handle properties(H5Dget_create_plist(dataset.id), H5Pclose);
  if (!properties.valid()) refuse(dataset, fmt::format("cannot be read: {}", last_error()));
  if (H5Pget_layout(properties) == H5D_VIRTUAL) check_virtual(dataset, properties);
  if (H5Pget_external_count(properties) > 0) {
    std::array<char, 256> name{};
    H5Pget_external(properties, 0, name.size() - 1, name.data(), nullptr, nullptr);
    refuse(dataset,
           fmt::format("keeps its bytes in another file ({}); only data in the file itself are read: make a plain copy",
                       name.data()));
  }
  check_filters(dataset, properties);
  check_written(dataset, properties);
}

void check_memory(const Dataset& dataset, std::size_t element, double copies) {
  const double needed = static_cast<double>(dataset.count()) * static_cast<double>(element) * copies;
  const auto available = static_cast<double>(available_memory());
  if (needed > available)
    throw DeviceError(fmt::format("{} has shape [{}]: reading it needs {}, {} of memory are free; a part of it needs less",
                                  dataset.where, fmt::join(dataset.shape, ", "), bytes_text(needed), bytes_text(available)));
}

Tensor read(const Dataset& dataset, at::ScalarType dtype) { return read_as(dataset, dtype, memory_type(dtype)); }

Tensor read_slab(const Dataset& dataset, at::ScalarType dtype, std::int64_t axis, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> shape = dataset.shape;
  shape[static_cast<std::size_t>(axis)] = count;
  Tensor result = at::empty(shape, at::TensorOptions(dtype));
  if (result.numel() == 0) return result;
  CrashGuard::expect(static_cast<double>(result.nbytes()));
  std::vector<hsize_t> start(shape.size(), 0);
  start[static_cast<std::size_t>(axis)] = static_cast<hsize_t>(first);
  read_block(dataset, memory_type(dtype), start, {shape.begin(), shape.end()}, result.mutable_data_ptr());
  return result;
}

Tensor read_integers(const Dataset& dataset) {
  return read_as(dataset, at::kLong, dataset.info.is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64);
}

at::ScalarType exact_dtype(const Dataset& dataset) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kByte, at::kBool})
    if (H5Tequal(dataset.type, file_type(dtype)) > 0) return dtype;
  refuse(dataset, fmt::format("holds {}, which no file of this program does", dataset.info.name));
}

bool holds(const Dataset& dataset, const Tensor& values) {
  const Tensor plain = values.detach().to(at::kCPU).contiguous();
  if (dataset.null || plain.sizes() != at::IntArrayRef(dataset.shape) || exact_dtype(dataset) != plain.scalar_type())
    return false;
  if (plain.numel() == 0) return true;
  if (plain.dim() == 0)
    return std::memcmp(read(dataset, plain.scalar_type()).const_data_ptr(), plain.const_data_ptr(), plain.nbytes()) == 0;
  const Handle type = memory_type(plain.scalar_type());
  const std::vector<hsize_t> shape = extent(dataset);
  const std::size_t row_bytes = plain.nbytes() / shape[0];
  const hsize_t rows = std::max<hsize_t>(1, (std::size_t{16} << 20) / row_bytes);
  std::vector<char> block(std::min(rows, shape[0]) * row_bytes);
  std::vector<hsize_t> start(shape.size(), 0), count = shape;
  const auto* expected = static_cast<const char*>(plain.const_data_ptr());
  for (; start[0] < shape[0]; start[0] += count[0]) {
    count[0] = std::min(rows, shape[0] - start[0]);
    read_block(dataset, type, start, count, block.data());
    if (std::memcmp(block.data(), expected, count[0] * row_bytes) != 0) return false;
    expected += count[0] * row_bytes;
  }
  return true;
}

std::vector<std::string> read_texts(const Dataset& dataset, std::size_t limit) {
  const auto count = static_cast<std::size_t>(dataset.count());
  if (dataset.info.family != Family::text || dataset.shape.size() > 1) refuse(dataset, "is not text");
  if (count == 0 || dataset.null) return {};
  const bool variable = H5Tis_variable_str(dataset.type) > 0;
  const std::size_t size = variable ? sizeof(char*) : dataset.info.size;
  if (count > limit / std::max<std::size_t>(size, 1)) refuse(dataset, "is too long");
  std::vector<std::string> result;
  if (variable) {
    std::vector<char*> texts(count, nullptr);
    if (H5Dread(dataset.id, dataset.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data()) < 0)
      refuse(dataset, fmt::format("cannot be read: {}", last_error()));
    for (const char* text : texts) result.emplace_back(text == nullptr ? "" : text);
    const Handle space(H5Dget_space(dataset.id), H5Sclose);
    H5Dvlen_reclaim(dataset.type, space, H5P_DEFAULT, texts.data());
  } else {
    std::vector<char> bytes(count * size);
    if (H5Dread(dataset.id, dataset.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
      refuse(dataset, fmt::format("cannot be read: {}", last_error()));
    const bool spaces = H5Tget_strpad(dataset.type) == H5T_STR_SPACEPAD;
    for (std::size_t i = 0; i < count; ++i) {
      std::string text(bytes.data() + i * size, size);
      text = text.substr(0, text.find('\0'));
      while (spaces && text.ends_with(' ')) text.pop_back();
      result.push_back(text);
    }
  }
  return result;
}

}  // namespace gaussflow::io::hdf5
