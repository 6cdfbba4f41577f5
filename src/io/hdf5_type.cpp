#include "io/hdf5_type.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <memory>

namespace gaussflow::io::hdf5 {

namespace {

std::string byte_order(hid_t type, std::size_t size) {
  return size > 1 && H5Tget_order(type) == H5T_ORDER_BE ? " big-endian" : "";
}

/// Names of the members of a compound or enumeration, at most twenty.
std::vector<std::string> members(hid_t type) {
  std::vector<std::string> names;
  const int count = H5Tget_nmembers(type);
  for (int i = 0; i < count && i < 20; ++i) {
    const std::unique_ptr<char, herr_t (*)(void*)> name(H5Tget_member_name(type, static_cast<unsigned>(i)), H5free_memory);
    names.emplace_back(name ? name.get() : "?");
  }
  if (count > 20) names.emplace_back("…");
  return names;
}

std::string float_name(hid_t type, std::size_t size) {
  std::size_t sign = 0, exponent_at = 0, exponent = 0, mantissa_at = 0, mantissa = 0;
  H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa);
  if (size == 2 && exponent == 8) return "bf16";
  return size == 2 || size == 4 || size == 8 ? fmt::format("fp{}", 8 * size)
                                             : fmt::format("a float of {} bits", H5Tget_precision(type));
}

bool is_complex(const std::vector<std::string>& names) {
  return names.size() == 2 && ((names[0] == "r" && names[1] == "i") || (names[0] == "real" && names[1] == "imag"));
}

Handle bool_type() {
  Handle type(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);
  for (const signed char value : {0, 1}) H5Tenum_insert(type, value == 0 ? "FALSE" : "TRUE", &value);
  return type;
}

}  // namespace

TypeInfo type_info(hid_t type) {
  TypeInfo info;
  info.size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      info.family = Family::floating;
      info.name = float_name(type, info.size) + byte_order(type, info.size);
      break;
    case H5T_INTEGER:
      info.family = Family::integer;
      info.is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
      info.name = fmt::format("{}int{}{}", info.is_signed ? "" : "u", 8 * info.size, byte_order(type, info.size));
      break;
    case H5T_STRING:
      info.family = Family::text;
      info.name = "text";
      info.advice = "store numbers, in h5py: f['numbers'] = f[name][()].astype(float)";
      break;
    case H5T_COMPOUND: {
      const auto names = members(type);
      if (is_complex(names)) {
        info.name = "complex numbers";
        info.advice = "store real and imaginary parts as two columns";
      } else {
        info.name = fmt::format("a compound of {}", fmt::join(names, ", "));
        info.advice =
            "store its members as the columns of one array, in h5py: "
            "f['flat'] = np.stack([x[name] for name in x.dtype.names], axis=-1)";
      }
      break;
    }
    case H5T_ENUM: {
      const auto names = members(type);
      const bool truth = names == std::vector<std::string>{"FALSE", "TRUE"};
      info.family = truth ? Family::boolean : Family::other;
      info.name = truth ? "booleans" : fmt::format("an enumeration of {}", fmt::join(names, ", "));
      info.advice = "a mask or labels are no coordinates; store numbers if they are meant as such";
      break;
    }
    case H5T_VLEN:
      info.name = "rows of different lengths";
      info.advice = "store an array of one shape";
      break;
    case H5T_REFERENCE:
      info.name = "references to other objects";
      info.advice = "name the dataset that holds the numbers";
      break;
    case H5T_OPAQUE:
      info.name = "opaque bytes";
      info.advice = "store the numbers as numbers";
      break;
    case H5T_BITFIELD:
      info.name = "bit fields";
      info.advice = "store the numbers as numbers";
      break;
    case H5T_ARRAY:
      info.name = "small arrays as elements";
      info.advice = "store one array of numbers with one more axis";
      break;
    default:
      info.name = "of a type this program does not know";
      info.advice = "store the numbers as fp32 or fp64";
  }
  return info;
}

Handle memory_type(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
    case at::kDouble:
      return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
    case at::kLong:
      return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
    case at::kInt:
      return {H5Tcopy(H5T_NATIVE_INT32), H5Tclose};
    case at::kByte:
      return {H5Tcopy(H5T_NATIVE_UINT8), H5Tclose};
    case at::kBool:
      return bool_type();
    default:
      throw InputError(
          fmt::format("a tensor of {} cannot be stored: use fp32, fp64, int64, int32, uint8 or bool", dtype_name(dtype)));
  }
}

Handle file_type(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
    case at::kDouble:
      return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
    case at::kLong:
      return {H5Tcopy(H5T_STD_I64LE), H5Tclose};
    case at::kInt:
      return {H5Tcopy(H5T_STD_I32LE), H5Tclose};
    default:
      return memory_type(dtype);
  }
}

}  // namespace gaussflow::io::hdf5
