#pragma once
/// Datatypes: what a stored one means, and which one stores a tensor.

#include "gaussflow/core/tensor.hpp"

#include "io/hdf5_handle.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace gaussflow::io::hdf5 {

enum class Family { floating, integer, boolean, text, other };

struct TypeInfo {
  Family family = Family::other;
  std::string name;       ///< "fp64", "int16 big-endian", "text", "compound of x, y" …
  std::size_t size = 0;   ///< bytes
  bool is_signed = true;  ///< of integers
  std::string advice;     ///< of what holds no coordinates: what would do
  bool numeric() const { return family == Family::floating || family == Family::integer; }
};

TypeInfo type_info(hid_t type);

/// The library's type of a tensor's elements in memory; for bool the enumeration that h5py knows. Throws InputError for a
/// dtype that no file of ours holds.
Handle memory_type(at::ScalarType dtype);

/// The same in a file: little-endian whatever the machine.
Handle file_type(at::ScalarType dtype);

}  // namespace gaussflow::io::hdf5
