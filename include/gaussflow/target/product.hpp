#pragma once
/// Matrix products whose bits do not depend on the number of threads.

#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <functional>

namespace gaussflow {

/// Calls body(first, last) for blocks of at most `block` rows out of `rows`, several at once on the CPU when `on_cpu`.
/// The cut depends on the sizes alone and BLAS keeps to one thread in a block, so that a matrix product in it adds in one
/// order, whatever the number of threads. Bodies must write to their own rows.
void for_row_blocks(std::int64_t rows, std::int64_t block, bool on_cpu,
                    const std::function<void(std::int64_t first, std::int64_t last)>& body);

/// a·b in blocks of rows.   Shapes  a [N, K], b [K, L] → [N, L].
Tensor row_product(const Tensor& a, const Tensor& b);

}  // namespace gaussflow
