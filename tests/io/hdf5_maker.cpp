#include "io/hdf5_maker.hpp"

#include <functional>
#include <numeric>

namespace support {

using gaussflow::io::hdf5::dataspace;

namespace {

Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, size);
  return type;
}

}  // namespace

Maker::Maker(const std::filesystem::path& file) {
  gaussflow::io::hdf5::prepare_library();
  file_ = Handle(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
}

void Maker::group(const std::string& path) {
  const Handle group(H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
}

void Maker::dataset(const std::string& path, const std::vector<hsize_t>& shape, hid_t stored, hid_t memory,
                    const void* values, hid_t properties) {
  const Handle dataset(H5Dcreate2(file_, path.c_str(), stored, dataspace(static_cast<int>(shape.size()), shape.data()),
                                  H5P_DEFAULT, properties, H5P_DEFAULT),
                       H5Dclose);
  if (values != nullptr) H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

void Maker::doubles(const std::string& path, const std::vector<hsize_t>& shape, std::vector<double> values,
                    hid_t properties) {
  if (values.empty()) {
    values.resize(std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>()));
    std::iota(values.begin(), values.end(), 0.0);
  }
  dataset(path, shape, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), properties);
}

void Maker::number_attribute(const std::string& path, const std::string& name, double value) {
  const Handle object(H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose);
  const Handle attribute(H5Acreate2(object, name.c_str(), H5T_IEEE_F64LE, dataspace(0, nullptr), H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  H5Awrite(attribute, H5T_NATIVE_DOUBLE, &value);
}

void Maker::text_attribute(const std::string& path, const std::string& name, const std::string& value) {
  const Handle object(H5Oopen(file_, path.c_str(), H5P_DEFAULT), H5Oclose);
  const Handle type = text_type(value.size() + 1);
  const Handle attribute(H5Acreate2(object, name.c_str(), type, dataspace(0, nullptr), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  H5Awrite(attribute, type, value.c_str());
}

Handle chunked(const std::vector<hsize_t>& chunk) {
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
  return properties;
}

}  // namespace support
