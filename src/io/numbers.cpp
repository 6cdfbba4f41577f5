#include "io/numbers.hpp"

#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gaussflow::io {

namespace {

template <class T>
Marked scan_non_finite(const Tensor& values) {
  Marked result;
  const T* const data = values.const_data_ptr<T>();
  for (std::int64_t i = 0; i < values.numel(); ++i)
    if (!std::isfinite(data[i]) && result.rows++ == 0) result.first = i;
  return result;
}

}  // namespace

Tensor exact_doubles(const Tensor& integers, bool is_signed, const std::string& where) {
  Tensor result = at::empty(integers.sizes(), at::kDouble);
  const std::int64_t* const in = integers.const_data_ptr<std::int64_t>();
  double* const out = result.data_ptr<double>();
  for (std::int64_t i = 0; i < integers.numel(); ++i) {
    const auto bits = static_cast<std::uint64_t>(in[i]);
    const std::uint64_t magnitude = is_signed && in[i] < 0 ? 0 - bits : bits;
    const auto rounded = static_cast<double>(magnitude);
    // 2^64 does not fit back into 64 bits, and no integer rounds to it without loss.
    if (rounded >= 0x1p64 || static_cast<std::uint64_t>(rounded) != magnitude)
      throw InputError(
          fmt::format("{} holds the integer {}{}, which fp64 cannot hold exactly (flat index {}); subtract an offset "
                      "before storing",
                      where, is_signed && in[i] < 0 ? "-" : "", magnitude, i));
    out[i] = is_signed && in[i] < 0 ? -rounded : rounded;
  }
  return result;
}

Marked rows_that_hold(const Tensor& samples, double value, bool through_float) {
  const double other = through_float ? static_cast<double>(static_cast<float>(value)) : value;
  const double* data = samples.const_data_ptr<double>();
  Marked result;
  for (std::int64_t row = 0; row < samples.size(0); ++row, data += samples.size(1))
    if (std::any_of(data, data + samples.size(1), [&](double x) { return x == value || x == other; }) && result.rows++ == 0)
      result.first = row;
  return result;
}

Marked first_non_finite(const Tensor& values) {
  return values.scalar_type() == at::kFloat ? scan_non_finite<float>(values) : scan_non_finite<double>(values);
}

Tensor as_matrix(const Tensor& values, bool transpose, const std::string& where, std::vector<std::string>& notes) {
  Tensor samples = values;
  if (values.dim() == 1) {
    notes.push_back(fmt::format("{} has one axis: read as {} of dimension 1", where, counted(values.size(0), "sample")));
    samples = values.unsqueeze(1);
  }
  if (transpose) samples = samples.t();
  if (!transpose && samples.size(0) < samples.size(1))
    notes.push_back(fmt::format("{} is read as {} of dimension {}; if it is stored as [D, M], set target.transpose: true",
                                where, counted(samples.size(0), "sample"), samples.size(1)));
  return samples.contiguous();
}

std::string sample_digest(const Tensor& samples, const Tensor& weights) {
  static_assert(std::endian::native == std::endian::little, "digests are defined over little-endian bytes");
  Digest digest;
  for (const Tensor& part : {samples, weights})
    if (part.defined()) digest.update(shape_text(part)).update(part.const_data_ptr(), part.nbytes());
  return digest.hex();
}

void check_samples(const Tensor& samples, const std::string& where, std::vector<std::string>& notes) {
  const std::int64_t rows = samples.size(0), columns = samples.size(1);
  std::int64_t bad = 0, first = -1, beyond = 0, first_beyond = -1, rounded = 0, whole = 0;
  const double* data = samples.const_data_ptr<double>();
  for (std::int64_t row = 0; row < rows; ++row, data += columns) {
    bool finite = true, in_range = true;
    for (std::int64_t column = 0; column < columns; ++column) {
      const double x = data[column];
      finite = finite && std::isfinite(x);
      in_range = in_range && !(std::abs(x) > static_cast<double>(std::numeric_limits<float>::max()));
      const bool rounds = std::abs(x) > 0x1p24 && static_cast<double>(static_cast<float>(x)) != x;
      rounded += rounds;
      whole += rounds && std::trunc(x) == x;
    }
    if (!finite && bad++ == 0) first = row;
    if (!in_range && beyond++ == 0) first_beyond = row;
  }
  if (bad > 0)
    throw InputError(fmt::format("{} has {} of {} rows with NaN or Inf, the first is row {}; drop or repair them first",
                                 where, bad, rows, first));
  if (beyond > 0)
    throw InputError(
        fmt::format("{} has {} of {} rows with numbers beyond the range of fp32 (3.4e38), the first is row {}; rescale "
                    "the data",
                    where, beyond, rows, first_beyond));
  // Whole numbers are the sign of dates and labels, whose last digits mean something.
  if (whole > 0)
    notes.push_back(
        fmt::format("{} holds {} numbers beyond 2^24 that fp32 particles would round, {} of them whole; particles.dtype: "
                    "fp64 keeps them",
                    where, rounded, whole));
}

void check_weights(const Tensor& weights, const std::string& where) {
  const double* const data = weights.const_data_ptr<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < weights.numel(); ++i) {
    if (!std::isfinite(data[i]) || data[i] < 0)
      throw InputError(fmt::format("{} has the weight {} at index {}; weights must be finite and at least 0", where,
                                   number_text(data[i]), i));
    sum += data[i];
  }
  if (!(sum > 0) || !std::isfinite(sum))
    throw InputError(fmt::format("{}: the sum of the weights is {}", where, number_text(sum)));
}

}  // namespace gaussflow::io
