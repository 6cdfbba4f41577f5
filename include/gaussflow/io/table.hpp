#pragma once
/// Samples from formats that are not HDF5: text tables and NumPy arrays.

#include "gaussflow/io/sample_file.hpp"

#include <filesystem>

namespace gaussflow::io {

/// Reads a table of numbers as [M, D], as strictly as read_samples: a .npy array (format 1 or 2, real, either byte order),
/// or text with one row a line.
///
/// Text     fields between commas, semicolons, tabs or blanks (the first of these that the first row holds); lines with # and
///          empty lines are passed over; a first row without numbers names the columns; `options.weights` may name one.
///          Columns whose names end in __ (the sampler's own in files of Stan) are left out with a note.
/// Throws   InputError with line and column: ragged rows, fields that are no finite number, unnamed columns (a row index).
SampleFile read_table(const std::filesystem::path& file, const SampleOptions& options = {});

/// Whatever can become samples: an array of a .npz archive (FILE.npz:/NAME, `samples`, or the only one), read_table when the file looks like one of its formats and no dataset is named, else
/// read_samples.
SampleFile import_samples(const DataRef& ref, const SampleOptions& options = {});

}  // namespace gaussflow::io
