#pragma once
/// What the plain and the symmetric sums share.

#include "kernel/direct/buffer.hpp"
#include "kernel/direct/kernels.hpp"
#include "kernel/direct/pack.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gaussflow::direct {

/// While it lives, results below the normal range are zero on this thread: some processors take hundreds of cycles for each.
/// Only around kernels, whose operands are scaled to need none; packing and results keep subnormal numbers.
class FlushSubnormals {
 public:
#if defined(__SSE2__)
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8000U); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  FlushSubnormals() {}
#endif
};

/// What a thread works with.
template <class T>
struct Scratch {
  Scratch(std::int64_t rows, std::int64_t dim, std::int64_t outputs, bool tiled)
      : queries(rows * dim), tile(tiled ? tile_size<T> : 0), totals(rows * outputs), partial(rows * outputs) {}
  Buffer<T> queries, tile;
  Buffer<double> totals, partial;
};

/// A block without keys; its totals are to be set.
template <class T>
Block<T> block_of(const KeyStore<T>& store, const T* queries, std::int64_t groups, T* tile, double* totals) {
  return {store.keys,
          0,
          0,
          queries,
          static_cast<int>(groups),
          static_cast<T>(store.frame.argument_scale),
          static_cast<T>(store.frame.argument_scale_low),
          tile,
          totals};
}

}  // namespace gaussflow::direct
