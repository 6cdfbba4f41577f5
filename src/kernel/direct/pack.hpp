#pragma once
/// From strided input to packed panels: the frame of a cloud of keys, and the packing of points and values.

#include "kernel/direct/buffer.hpp"
#include "kernel/direct/direct.hpp"
#include "kernel/direct/layout.hpp"

#include <vector>

namespace gaussflow::direct {

/// Packed coordinates are (x − centre) · scale, formed in fp64 and rounded once. The frame depends on the keys of the batch
/// alone, so that a row cannot depend on other queries.
struct Frame {
  bool small;  ///< the small kernels take it
  /// The mean of the keys where points are rounded to another type. Otherwise 0: nothing is rounded at all.
  std::vector<double> centre;
  double scale;               ///< a power of two near √(τ/2 log₂e)
  double argument_scale;      ///< turns squared distances of packed points into the profile's argument
  double argument_scale_low;  ///< what it lacks
  std::vector<double> mean;   ///< of the keys, where values are formed with it
};

/// One batch of packed keys and values with their memory.
template <class T>
struct KeyStore {
  Buffer<T> points, values;
  PackedKeys<T> keys;
  Frame frame;
  int outputs;  ///< sums per row
  /// Powers of two that bring the largest |value| of each channel into [1/2, 1): values may lie anywhere in the range of
  /// their type, and products do not fall below it. Packed values are value / unit.
  std::vector<double> units;
  std::vector<double> sizes;  ///< Σ |value| of each channel, in units
};
template <class T, class In>
KeyStore<T> pack_keys(const Problem<In>& problem, std::int64_t batch, int threads);

/// Rows [first, first + count) of a query array into groups [group][dim][4]; a last group is filled up with its last row.
template <class T, class In>
void pack_queries(const Array<In>& q, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t dim,
                  const Frame& frame, T* out);

}  // namespace gaussflow::direct
