#pragma once
/// A dataset read in blocks of rows: it need not fit into memory.

#include "gaussflow/core/data_ref.hpp"
#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gaussflow::io {

class RowFile {
 public:
  /// Opens FILE[:/dataset] (without a dataset: /samples, or the only one that could be meant) and keeps it open.
  ///
  /// Throws  InputError as read_samples and read_array.
  explicit RowFile(const DataRef& ref);
  ~RowFile();
  RowFile(RowFile&&) noexcept;

  const std::vector<std::int64_t>& shape() const;
  /// fp32 where the file has floating-point numbers of at most 32 bits, else fp64.
  at::ScalarType dtype() const;
  /// "moons.h5:/x", for messages.
  const std::string& where() const;
  /// Names of the columns beside the dataset, empty when the file has none.
  std::vector<std::string> names() const;

  /// Entries [first, first + count) along `axis` in `dtype`, the other axes whole.
  ///
  /// Throws  InputError naming the first entry that is not finite or marked missing, and for what cannot be read in blocks:
  ///         MATLAB's reversed axes, integers of 64 bits.
  Tensor read(std::int64_t axis, std::int64_t first, std::int64_t count, at::ScalarType dtype) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gaussflow::io
