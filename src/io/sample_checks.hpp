#pragma once
/// What a dataset must be to be read as numbers or as samples, known before its data are read. All errors are InputError.

#include "io/hdf5_reader.hpp"

namespace gaussflow::io {

/// Real numbers that mean what they say: not text, not packed, not an empty MATLAB array.
void check_numbers(const hdf5::Dataset& dataset);

/// One or two axes, not empty.
void check_matrix(const hdf5::Dataset& dataset);

/// MATLAB stores [rows, columns] with the axes reversed.
bool has_reversed_axes(const hdf5::Dataset& dataset);

}  // namespace gaussflow::io
