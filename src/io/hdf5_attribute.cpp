#include "io/hdf5_reader.hpp"

#include <array>

namespace gaussflow::io::hdf5 {

namespace {

struct Attribute {
  Handle id;
  Handle type;
  hssize_t count = 0;
};

std::optional<Attribute> attribute(hid_t object, const std::string& name) {
  if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
  Attribute result;
  result.id = Handle(H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose);
  if (!result.id.valid()) return std::nullopt;
  result.type = Handle(H5Aget_type(result.id), H5Tclose);
  const Handle space(H5Aget_space(result.id), H5Sclose);
  if (!result.type.valid() || !space.valid()) return std::nullopt;
  result.count = H5Sget_simple_extent_npoints(space);
  return result;
}

}  // namespace

std::vector<std::string> attribute_names(hid_t object) {
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->emplace_back(name);
    return 0;
  };
  hsize_t index = 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &index, collect, &names);
  return names;
}

std::optional<std::string> text_attribute(hid_t object, const std::string& name) {
  const auto found = attribute(object, name);
  if (!found || found->count != 1 || H5Tget_class(found->type) != H5T_STRING) return std::nullopt;
  if (H5Tis_variable_str(found->type) > 0) {
    char* text = nullptr;
    if (H5Aread(found->id, found->type, &text) < 0) return std::nullopt;
    const std::string result = text == nullptr ? "" : text;
    H5free_memory(text);
    return result;
  }
  const std::size_t size = H5Tget_size(found->type);
  if (size > 1 << 20) return std::nullopt;
  std::string result(size, '\0');
  if (H5Aread(found->id, found->type, result.data()) < 0) return std::nullopt;
  return result.substr(0, result.find('\0'));
}

std::optional<double> number_attribute(hid_t object, const std::string& name) {
  const auto found = attribute(object, name);
  if (!found || found->count != 1 || !type_info(found->type).numeric()) return std::nullopt;
  double value = 0;
  if (H5Aread(found->id, H5T_NATIVE_DOUBLE, &value) < 0) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> integers_attribute(hid_t object, const std::string& name) {
  const auto found = attribute(object, name);
  if (!found || found->count < 0 || found->count > 64 || type_info(found->type).family != Family::integer)
    return std::nullopt;
  std::vector<std::int64_t> values(static_cast<std::size_t>(found->count));
  if (!values.empty() && H5Aread(found->id, H5T_NATIVE_INT64, values.data()) < 0) return std::nullopt;
  return values;
}

}  // namespace gaussflow::io::hdf5
