#pragma once
/// The operands of `gaussflow sum`, keys and values whole or in blocks that fit into memory.

#include "gaussflow/core/tensor.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/row_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gaussflow::app {

/// Points or values by name: a dataset that may be read in parts, or numbers in memory (arrays of an archive). One axis [N]
/// is [N, 1], with a note. All that is read is as stored: fp32 or fp64.
class Rows {
 public:
  Rows(const io::ArrayFile& file, const std::string& name);
  explicit Rows(Tensor values);

  const std::string& where() const { return where_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  at::ScalarType dtype() const { return rows_ ? rows_->dtype() : values_.scalar_type(); }
  /// Bytes in `least` or the stored type, whichever is wider.
  double bytes(at::ScalarType least) const;
  Tensor all() const;
  /// Entries [first, first + count) of the axis before the last.
  Tensor part(std::int64_t first, std::int64_t count) const;

 private:
  std::string where_, name_;
  std::vector<std::int64_t> shape_;
  const io::ArrayFile* file_ = nullptr;
  std::optional<io::RowFile> rows_;
  Tensor values_;
};

class KeyBlocks {
 public:
  /// v and k of a file; without k, the keys are `q`. `block`: keys at once; empty: all where three copies, in `least` or the
  /// stored type, fit into memory, else as many as do.
  KeyBlocks(const io::ArrayFile& file, const Tensor& q, std::optional<std::int64_t> block, at::ScalarType least);

  /// Keys at once; empty: all.
  std::optional<std::int64_t> block() const { return block_; }

  /// Calls f(k, v, first) for each block, whose first key is `first` of `count` in all.
  void visit(const std::function<void(const Tensor& k, const Tensor& v, std::int64_t first)>& f) const;
  std::int64_t count() const { return count_; }
  /// The wider of the types that k and v are stored in.
  at::ScalarType dtype() const;

 private:
  Rows k_, v_;
  std::int64_t count_ = 0;
  std::optional<std::int64_t> block_;
};

}  // namespace gaussflow::app
