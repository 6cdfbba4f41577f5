#pragma once
/// What a dataset must be to be read as numbers or as samples, known before its data are read. All errors are InputError.

#include "io/hdf5_reader.hpp"

namespace gaussflow::io {

/// Real numbers that mean what they say: not text, not packed, not an empty MATLAB array.
void check_numbers(const hdf5::Dataset& dataset);

/// One or two axes, not empty.
void check_matrix(const hdf5::Dataset& dataset);

/// Refuses rows that hold what the file says stands for a missing number; the first of `rows` is row `first`.
void check_fill(const hdf5::Dataset& dataset, const Tensor& rows, std::int64_t first = 0);

/// The attribute that write_samples adds to its arrays: SHA-256 of their shape and numbers. Others' arrays have none.
inline constexpr const char* digest_name = "gaussflow_sha256";

/// Refuses numbers [fp64] that differ from the dataset's own digest, where it has one.
void check_digest(const hdf5::Dataset& dataset, const Tensor& values);

/// "row 5, column 1" of a flat index; "[1, 5, 1]" where there are other than two axes. The first entry of `axis` is `first`.
std::string place(std::int64_t flat, at::IntArrayRef shape, std::size_t axis = 0, std::int64_t first = 0);

/// MATLAB stores [rows, columns] with the axes reversed.
bool has_reversed_axes(const hdf5::Dataset& dataset);

}  // namespace gaussflow::io
