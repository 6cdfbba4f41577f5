#pragma once
/// The keys and values of `gaussflow sum`, whole or in blocks that fit into memory.

#include "gaussflow/core/device.hpp"
#include "gaussflow/io/row_file.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gaussflow::app {

class KeyBlocks {
 public:
  /// /k and /v of a file; without /k, the keys are `q`. `block`: keys at once; empty: all where three copies fit into
  /// memory, else as many as do.
  KeyBlocks(const std::string& file, const Tensor& q, std::optional<std::int64_t> block);

  /// Keys at once; empty: all.
  std::optional<std::int64_t> block() const { return block_; }

  /// Calls f(k, v) for each block, as they are stored: fp32 or fp64.
  void visit(const std::function<void(const Tensor&, const Tensor&)>& f) const;

 private:
  std::string file_;
  Tensor q_;
  std::optional<io::RowFile> k_;
  io::RowFile v_;
  std::int64_t axis_ = 0, count_ = 0;
  std::optional<std::int64_t> block_;
};

}  // namespace gaussflow::app
