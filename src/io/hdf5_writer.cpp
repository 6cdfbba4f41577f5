#include "io/hdf5_writer.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/hdf5_type.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

namespace gaussflow::io::hdf5 {

namespace {

Handle text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

std::vector<const char*> pointers(const std::vector<std::string>& values) {
  std::vector<const char*> result;
  for (const std::string& value : values) result.push_back(value.c_str());
  return result;
}

/// No time stamps: equal contents are equal bytes.
Handle dataset_properties() {
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties, false);
  return properties;
}

/// The library wants a buffer even for no elements.
const void* not_null(const void* data) { return data != nullptr ? data : ""; }

std::vector<hsize_t> shape_of(const Tensor& values) { return {values.sizes().begin(), values.sizes().end()}; }

}  // namespace

Writer::Writer(const std::filesystem::path& file, std::filesystem::path shown, const Options& options)
    : shown_(std::move(shown)) {
  const Handle access = file_access();
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation, static_cast<hsize_t>(options.user_block));
  file_ = Handle(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose);
  require(file_.valid(), "create the file");
  reserve_space(file, options.reserve, shown_);  // after the creation, which truncates
}

void Writer::require(bool good, const std::string& what) const {
  if (!good) throw IoError(fmt::format("cannot write {}: {} ({})", shown_.string(), last_error(), what));
}

void Writer::write(const std::string& path, hid_t file_type, hid_t memory_type, hid_t space, hid_t properties,
                   const void* data) {
  Handle dataset(H5Dcreate2(file_, path.c_str(), file_type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose);
  require(dataset.valid(), path);
  require(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, not_null(data)) >= 0, path);
  require(dataset.close(), path);
}

void Writer::group(const std::string& path) {
  Handle group(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  require(group.valid() && group.close(), path);
}

void Writer::tensor(const std::string& path, const Tensor& values) {
  const Tensor plain = values.detach().to(at::kCPU).contiguous();
  const std::vector<hsize_t> shape = shape_of(plain);
  write(path, file_type(plain.scalar_type()), memory_type(plain.scalar_type()),
        dataspace(static_cast<int>(shape.size()), shape.data()), dataset_properties(), plain.const_data_ptr());
}

void Writer::frames(const std::string& path, const Tensor& values) {
  const Tensor plain = values.detach().to(at::kCPU).contiguous();
  const std::vector<hsize_t> shape = shape_of(plain);
  const Handle properties = dataset_properties();
  if (plain.numel() > 0) {
    std::vector<hsize_t> chunk = shape;
    chunk[0] = 1;
    // The library cannot make a chunk of 4 GiB; long frames are split by rows.
    const auto row =
        static_cast<hsize_t>(plain.element_size() * plain.numel()) / (shape[0] * (shape.size() > 1 ? shape[1] : 1));
    if (chunk.size() > 1) chunk[1] = std::clamp<hsize_t>((hsize_t{1} << 30) / row, 1, shape[1]);
    require(H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data()) >= 0 && H5Pset_shuffle(properties) >= 0 &&
                H5Pset_deflate(properties, 1) >= 0 && H5Pset_fletcher32(properties) >= 0,
            path);
  }
  write(path, file_type(plain.scalar_type()), memory_type(plain.scalar_type()),
        dataspace(static_cast<int>(shape.size()), shape.data()), properties, plain.const_data_ptr());
}

void Writer::text(const std::string& path, const std::string& value) {
  const char* pointer = value.c_str();
  const Handle type = text_type();
  write(path, type, type, dataspace(0, nullptr), dataset_properties(), &pointer);
}

void Writer::texts(const std::string& path, const std::vector<std::string>& values) {
  const hsize_t count = values.size();
  const Handle type = text_type();
  write(path, type, type, dataspace(1, &count), dataset_properties(), pointers(values).data());
}

void Writer::link(const std::string& existing, const std::string& path) {
  require(H5Lcreate_hard(file_, existing.c_str(), file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0, path);
}

void Writer::write_attribute(const std::string& path, const std::string& name, hid_t file_type, hid_t memory_type,
                             hid_t space, const void* data) {
  const std::string what = fmt::format("attribute {} of {}", name, path);
  const Handle object(H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose);
  require(object.valid(), what);
  Handle attribute(H5Acreate2(object, name.c_str(), file_type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  require(attribute.valid(), what);
  require(H5Awrite(attribute, memory_type, not_null(data)) >= 0 && attribute.close(), what);
}

void Writer::attribute(const std::string& path, const std::string& name, const std::string& value) {
  const char* pointer = value.c_str();
  const Handle type = text_type();
  write_attribute(path, name, type, type, dataspace(0, nullptr), &pointer);
}

void Writer::attribute(const std::string& path, const std::string& name, const std::vector<std::string>& values) {
  const hsize_t count = values.size();
  const Handle type = text_type();
  write_attribute(path, name, type, type, dataspace(1, &count), pointers(values).data());
}

void Writer::attribute(const std::string& path, const std::string& name, double value) {
  write_attribute(path, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, dataspace(0, nullptr), &value);
}

void Writer::attribute(const std::string& path, const std::string& name, std::int64_t value) {
  write_attribute(path, name, H5T_STD_I64LE, H5T_NATIVE_INT64, dataspace(0, nullptr), &value);
}

void Writer::attribute(const std::string& path, const std::string& name, const std::vector<std::int64_t>& values) {
  const hsize_t count = values.size();
  write_attribute(path, name, H5T_STD_I64LE, H5T_NATIVE_INT64, dataspace(1, &count), values.data());
}

void Writer::close() {
  require(H5Fflush(file_, H5F_SCOPE_GLOBAL) >= 0, "flush");
  require(file_.close(), "close");
}

}  // namespace gaussflow::io::hdf5
