#pragma once
/// Samples that stay in their file: a step reads the block it sees.

#include "gaussflow/target/target.hpp"

namespace gaussflow {

/// Samples [M, D] of a file larger than memory. A step sees `batch` consecutive rows; each epoch visits all blocks in a fresh
/// order. Moments and the record are those of all rows; `all_samples`, which bandwidth, start and energies use, are up to
/// 65536 rows spread evenly over the file.
///
/// Range    batch ≥ 1.
/// Cost     one pass over the file at construction, memory for 65536 rows and two blocks.
/// Throws   InputError as io::RowFile.
std::unique_ptr<Target> streamed_samples(const DataRef& file, std::int64_t batch, bool standardize);

}  // namespace gaussflow
