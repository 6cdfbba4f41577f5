#pragma once
/// What numbers must satisfy to be samples or weights, wherever they were read from.

#include "gaussflow/core/tensor.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace gaussflow::io {

struct Marked {
  std::int64_t rows = 0;  ///< how many
  std::int64_t first = -1;
};

/// Integers (of uint64 the bits) as fp64.   Throws InputError naming the first that fp64 cannot hold.
Tensor exact_doubles(const Tensor& integers, bool is_signed, const std::string& where);

/// Rows of a contiguous fp64 matrix that hold `value` (also as it looks after a pass through fp32).
Marked rows_that_hold(const Tensor& samples, double value, bool through_float);

/// Non-finite numbers of a contiguous fp32 or fp64 tensor: how many, and the flat index of the first.
Marked first_non_finite(const Tensor& values);

/// Values of one or two axes as a contiguous [M, D]; what could be meant otherwise is said in `notes`.
Tensor as_matrix(const Tensor& values, bool transpose, const std::string& where, std::vector<std::string>& notes);

/// SHA-256 of shapes and values of samples and weights (fp64, contiguous; weights may be undefined).
std::string sample_digest(const Tensor& samples, const Tensor& weights);

/// Refuses samples [M, D] (contiguous, fp64) with NaN, Inf or numbers beyond fp32's range; notes what fp32 would round.
void check_samples(const Tensor& samples, const std::string& where, std::vector<std::string>& notes);

/// Refuses weights [M] (contiguous, fp64) that are negative, not finite or all zero.
void check_weights(const Tensor& weights, const std::string& where);

}  // namespace gaussflow::io
