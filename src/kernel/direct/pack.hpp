#pragma once
/// From strided input to packed panels: which kernel a cloud of keys gets, its frame, and the packing itself.

#include "kernel/direct/direct.hpp"
#include "kernel/direct/layout.hpp"

#include <vector>

namespace gaussflow::direct {

/// Packed coordinates are (x − centre) · scale, formed in fp64 and rounded once. It depends on the keys of the batch alone,
/// so that a row cannot depend on other queries.
struct Frame {
  /// The small kernel: centre the mean of the keys, scale √(τ/2 log₂e). Otherwise scale is a power of two and, where Compute
  /// is the input's own type, the centre 0: nothing is rounded at all.
  bool small;
  std::vector<double> centre;
  double scale;
  /// What squared distances of packed points are multiplied by to become the profile's argument.
  double argument_scale;
};

/// The frame of one batch.
template <class Compute, class In>
Frame frame_of(const Problem<In>& problem, std::int64_t batch);

/// The powers of two that bring each channel's largest |v| into [1/2, 1): values may lie anywhere in the range of their
/// type.
template <class In>
std::vector<double> value_units(const Problem<In>& problem, std::int64_t batch);

/// One batch of packed keys and values with their memory.
template <class T>
struct KeyStore {
  Buffer<T> points, values;
  PackedKeys<T> keys;
  Frame frame;
  std::vector<double> units;  ///< packed values are v / units[channel]
};
template <class T, class In>
KeyStore<T> pack_keys(const Problem<In>& problem, std::int64_t batch, int threads);

/// Rows [first, first + count) of a query array into groups [group][dim][4]; a last group is filled up with its last row.
template <class T, class In>
void pack_queries(const Array<In>& q, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t dim,
                  const Frame& frame, T* out);

}  // namespace gaussflow::direct
