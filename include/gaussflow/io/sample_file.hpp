#pragma once
/// Samples from and to HDF5. Reading refuses before data is read whatever would be misread (docs/file_formats.md).

#include "gaussflow/core/data_ref.hpp"
#include "gaussflow/core/tensor.hpp"

#include <map>
#include <string>
#include <vector>

namespace gaussflow::io {

struct SampleFile {
  Tensor samples;                  ///< [M, D] fp64
  Tensor weights;                  ///< [M] fp64, or undefined
  std::vector<std::string> names;  ///< of the columns, empty when the file has none
  std::string dataset;             ///< the one that was read
  std::string digest;              ///< SHA-256 of shape, values and weights: equal bytes in another file are the same data
  std::vector<std::string> notes;  ///< readings worth telling: transposed, rank 1, integers beyond 2^24 …
};

struct SampleOptions {
  std::string weights;     ///< dataset of weights [M] in the same file, empty: none
  bool transpose = false;  ///< the dataset is [D, M]
};

/// Reads FILE[:/dataset] as [M, D]: `/samples`, else the only numeric dataset, else refused with the list. Weights are
/// returned as they are, not normalised.
///
/// Throws  InputError (missing, wrong rank, NaN or Inf with count and first index, strings, compounds, complex, links out of
///         the file, virtual datasets, unknown filters, null or empty dataspace, chunks never written, …); DeviceError when
///         the declared size does not fit into memory.
SampleFile read_samples(const DataRef& ref, const SampleOptions& options = {});

/// Reads any real dataset of any rank in its own float width (integers as fp64); the strict checks of read_samples apart
/// from the rank. Names the first non-finite entry.
Tensor read_array(const DataRef& ref, std::map<std::string, double>* attributes = nullptr);

/// One number for each row, [N] fp64, from a dataset [N], [N, 1] or [1, N]; booleans are 0 and 1. Checked as read_array does.
Tensor read_labels(const DataRef& ref);

/// What samples.h5 holds beside the samples.
struct SampleAttributes {
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;
};

/// Writes /samples, /weights (equal ones when undefined) and /names with root attributes, atomically (write, read back, fsync,
/// rename). Both arrays carry their digest, which read_samples checks.   Throws IoError.
void write_samples(const std::filesystem::path& file, const Tensor& samples, const Tensor& weights,
                   const std::vector<std::string>& names, const SampleAttributes& attributes);

}  // namespace gaussflow::io
