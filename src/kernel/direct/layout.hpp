#pragma once
/// How points and values lie in memory for the fused kernel, and what a SIMD kernel is handed.
///
/// Keys sit in *panels* of one 64-byte line per coordinate: lanes run over keys, so that a query is a broadcast, its sum
/// stays in registers over a whole block of keys, a single query wastes nothing, and a row never sees its neighbours: its
/// bits depend on its own coordinates and on the keys alone. Queries sit in groups of four, which is what the registers
/// hold.

#include <cstdint>

namespace gaussflow::direct {

/// Keys in a panel: 16 in fp32, 8 in fp64.
template <class T>
inline constexpr int panel_width = 64 / static_cast<int>(sizeof(T));

/// Queries in a group.
inline constexpr int group_size = 4;

/// Most value channels whose sums the registers hold beside a group: 4 × 6 of 32.
inline constexpr int channel_panel = 6;

/// Panels that a SIMD kernel is given at once. Its lane sums are as long as this and then go to fp64, so that rounding does
/// not grow with N. Half as many cost 5 % in the additions to fp64, twice as many 10 % in the second cache.
inline constexpr int block_panels = 64;

/// Groups whose profiles are in the tile at once. Keys and values of a block are read once for all of them, and the tile
/// stays in the second cache beside them: at D = C = 128, 16 are 1 % and 48 are 6 % slower.
inline constexpr int tile_groups = 24;

/// Entries between two rows of the tile: a line more than the keys, so that rows fall into different cache sets.
template <class T>
inline constexpr int tile_stride = (block_panels + 1) * panel_width<T>;
template <class T>
inline constexpr int tile_size = tile_groups* group_size* tile_stride<T>;

/// Value channels in balanced parts of at most channel_panel: 33 are 6, 6, 6, 5, 5, 5 rather than five sixes and a rest.
struct ChannelParts {
  explicit ChannelParts(int channels) : count((channels + channel_panel - 1) / channel_panel), channels(channels) {}
  int begin(int part) const { return static_cast<int>(static_cast<std::int64_t>(channels) * part / count); }
  int width(int part) const { return begin(part + 1) - begin(part); }
  int count;
  int channels;
};

/// Packed keys and values of one batch.
template <class T>
struct PackedKeys {
  const T* points;      ///< [panel][dim][lane]
  const T* values;      ///< for each channel part: [panel][width][lane]; a key that only fills a panel up has value 0
  std::int64_t panels;  ///< in all
  int dim;
  int channels;
};

/// What a SIMD kernel is handed: groups of queries against at most block_panels panels of keys.
template <class T>
struct Block {
  PackedKeys<T> keys;
  std::int64_t first_panel;
  int panels;
  const T* queries;  ///< [group][dim][4]
  int groups;
  T scale;         ///< turns squared distances of packed points into the profile's argument
  T scale_low;     ///< what scale lacks (compensated kernel)
  T* tile;         ///< scratch of tile_size<T> entries (tiled kernels)
  double* totals;  ///< [group][output][4], added to
};

/// For sums with q = k: the same, and each pair also for the key, whose panels all lie behind the queries.
template <class T>
struct SymmetricBlock {
  Block<T> block;
  const T* values;  ///< of the queries: [group][channel][4]
  T* transposed;    ///< [panel][channel][lane] of the block's panels, added to
};

}  // namespace gaussflow::direct
