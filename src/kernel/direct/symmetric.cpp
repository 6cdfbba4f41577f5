#include "kernel/direct/parallel.hpp"
#include "kernel/direct/sum.hpp"

#include <algorithm>

namespace gaussflow::direct {
namespace {

/// Rows whose pairs are formed together, a whole number of groups and of panels.
constexpr std::int64_t block_rows = 64;

/// Row blocks in a part of the cloud, at least: a task's work is the pairs of two parts.
constexpr std::int64_t part_blocks = 8;
constexpr std::int64_t most_parts = 64;

/// A cloud packed both ways.
template <class T>
struct Cloud {
  template <class In>
  Cloud(const Problem<In>& p, std::int64_t batch, int threads)
      : store(pack_keys<T>(p, batch, threads)),
        groups((p.N + group_size - 1) / group_size),
        queries(groups * group_size * p.D),
        values(groups * group_size * p.C) {
    pack_queries(p.k, batch, 0, p.N, p.D, store.frame, queries.get());
    for (std::int64_t n = 0; n < groups * group_size; ++n) {
      for (std::int64_t c = 0; c < p.C; ++c) {
        const double value = n < p.N ? p.v.at(batch, n)[c * p.v.column] / store.units[c] : 0.0;
        values[(n / group_size * p.C + c) * group_size + n % group_size] = static_cast<T>(value);
      }
    }
  }

  std::int64_t blocks() const { return (groups * group_size + block_rows - 1) / block_rows; }
  /// First panel of a row block; the number of panels for the block behind the last.
  std::int64_t panel(std::int64_t block) const { return std::min(store.keys.panels, block * (block_rows / panel_width<T>)); }
  std::int64_t group(std::int64_t block) const { return std::min(groups, block * (block_rows / group_size)); }

  KeyStore<T> store;
  std::int64_t groups;
  Buffer<T> queries, values;
};

template <class T>
Block<T> block_of(const Cloud<T>& cloud, std::int64_t row_block, T* tile, double* totals) {
  const std::int64_t first = cloud.group(row_block);
  return block_of(cloud.store, cloud.queries.get() + first * group_size * cloud.store.keys.dim,
                  cloud.group(row_block + 1) - first, tile, totals);
}

/// Every pair of parts {i, j} once, in rounds that touch each part once: in round r part i meets part (r − i) mod parts.
/// What a part receives therefore comes in the order of the rounds, whatever the threads.
template <class F>
void tournament(std::int64_t parts, int threads, const F& f) {
  const auto meet = [&](std::int64_t round, std::int64_t i, int thread) {
    const std::int64_t j = (round - i + parts) % parts;
    if (i <= j) f(i, j, thread);
  };
  if (threads <= 1) {
    for (std::int64_t round = 0; round < parts; ++round) {
      for (std::int64_t i = 0; i < parts; ++i) meet(round, i, 0);
    }
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    const int thread = omp_get_thread_num();
    for (std::int64_t round = 0; round < parts; ++round) {
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t i = 0; i < parts; ++i) meet(round, i, thread);
    }
  }
}

template <class T, class In>
void symmetric_batch(const Problem<In>& p, std::int64_t batch, In* out) {
  const double work = static_cast<double>(p.N) * p.N / 2 * (2 * p.D + 2 * p.C + 12) / panel_width<T>;
  const int available = threads_for(most_parts, work);
  const Cloud<T> cloud(p, batch, available);
  const std::int64_t blocks = cloud.blocks();
  const std::int64_t parts = std::clamp<std::int64_t>(blocks / part_blocks, 1, most_parts);
  const int threads = static_cast<int>(std::min<std::int64_t>(available, (parts + 1) / 2));
  const PackedKeys<T>& keys = cloud.store.keys;
  const int channels = keys.channels;

  const std::int64_t entries = keys.panels * panel_width<T> * channels;
  const Buffer<double> totals(entries);  // [group][channel][4]
  std::fill_n(totals.get(), entries, 0.0);
  std::vector<Buffer<T>> tiles, given;
  for (int t = 0; t < threads; ++t) {
    tiles.emplace_back(cloud.store.frame.small ? 0 : tile_size<T>);
    given.emplace_back(block_panels * panel_width<T> * channels);
  }

  /// The pairs of one row block with panels [first, last) behind it, for both sides.
  const auto meet = [&](std::int64_t row_block, std::int64_t first, std::int64_t last, int thread) {
    double* own = totals.get() + cloud.group(row_block) * channels * group_size;
    const FlushSubnormals flush;
    SymmetricBlock<T> pairs{block_of(cloud, row_block, tiles[thread].get(), own),
                            cloud.values.get() + cloud.group(row_block) * channels * group_size, given[thread].get()};
    for (std::int64_t panel = first; panel < last; panel += block_panels) {
      pairs.block.first_panel = panel;
      pairs.block.panels = static_cast<int>(std::min<std::int64_t>(block_panels, last - panel));
      std::fill_n(pairs.transposed, pairs.block.panels * panel_width<T> * channels, T(0));
      cloud.store.frame.small ? small_symmetric(pairs, p.profile) : tiled_symmetric(pairs, p.profile);
      const T* from = pairs.transposed;
      for (std::int64_t n = panel * panel_width<T>; n < (panel + pairs.block.panels) * panel_width<T>; n += panel_width<T>) {
        for (int c = 0; c < channels; ++c) {
          for (int lane = 0; lane < panel_width<T>; ++lane, ++from) {
            totals[((n + lane) / group_size * channels + c) * group_size + lane % group_size] += *from;
          }
        }
      }
    }
  };
  /// The pairs within one row block, all of them.
  const auto diagonal = [&](std::int64_t row_block, int thread) {
    double* own = totals.get() + cloud.group(row_block) * channels * group_size;
    Block<T> block = block_of(cloud, row_block, tiles[thread].get(), own);
    block.first_panel = cloud.panel(row_block);
    block.panels = static_cast<int>(cloud.panel(row_block + 1) - block.first_panel);
    const FlushSubnormals flush;
    cloud.store.frame.small ? small_sum(block, Kind::sum, p.profile) : tiled_sum(block, p.profile);
  };
  tournament(parts, threads, [&](std::int64_t i, std::int64_t j, int thread) {
    for (std::int64_t row_block = blocks * i / parts; row_block < blocks * (i + 1) / parts; ++row_block) {
      if (i == j) diagonal(row_block, thread);
      const std::int64_t first = i == j ? row_block + 1 : blocks * j / parts;
      meet(row_block, cloud.panel(first), cloud.panel(blocks * (j + 1) / parts), thread);
    }
  });

  for (std::int64_t n = 0; n < p.N; ++n) {
    const double* row = totals.get() + n / group_size * channels * group_size + n % group_size;
    for (int c = 0; c < channels; ++c) {
      out[(batch * p.N + n) * channels + c] = static_cast<In>(row[c * group_size] * cloud.store.units[c]);
    }
  }
}

}  // namespace

template <class T, class In>
void kernel_symmetric_sum(const Problem<In>& p, In* out) {
  for (std::int64_t b = 0; b < p.B; ++b) symmetric_batch<T>(p, b, out);
}

template <class T, class In>
void kernel_energy(const Problem<In>& p, double* out) {
  const double work = static_cast<double>(p.N) * p.N / 2 * (2 * p.D + p.C + 12) / panel_width<T>;
  for (std::int64_t b = 0; b < p.B; ++b) {
    const int threads = threads_for((p.N + block_rows - 1) / block_rows, work);
    const Cloud<T> cloud(p, b, threads);
    const std::int64_t blocks = cloud.blocks();
    std::vector<Buffer<T>> tiles;
    for (int t = 0; t < threads; ++t) tiles.emplace_back(cloud.store.frame.small ? 0 : tile_size<T>);
    std::vector<double> energies(blocks);
    parallel_tasks(blocks, threads, [&](std::int64_t row_block, int thread) {
      double within[block_rows] = {}, behind[block_rows] = {};
      const auto add = [&](std::int64_t first, std::int64_t last, double* totals) {
        const FlushSubnormals flush;
        Block<T> block = block_of(cloud, row_block, tiles[thread].get(), totals);
        for (std::int64_t panel = first; panel < last; panel += block_panels) {
          block.first_panel = panel;
          block.panels = static_cast<int>(std::min<std::int64_t>(block_panels, last - panel));
          cloud.store.frame.small ? small_sum(block, Kind::sum, p.profile) : tiled_sum(block, p.profile);
        }
      };
      add(cloud.panel(row_block), cloud.panel(row_block + 1), within);
      add(cloud.panel(row_block + 1), cloud.store.keys.panels, behind);
      double energy = 0;
      for (std::int64_t m = row_block * block_rows; m < std::min(p.N, (row_block + 1) * block_rows); ++m) {
        const std::int64_t i = m - row_block * block_rows;
        energy += p.v.at(b, m)[0] * (within[i] + 2 * behind[i]);
      }
      energies[row_block] = energy;
    });
    double energy = 0;
    for (const double e : energies) energy += e;
    out[b] = energy * cloud.store.units[0];
  }
}

template void kernel_symmetric_sum<float>(const Problem<float>&, float*);
template void kernel_symmetric_sum<float>(const Problem<double>&, double*);
template void kernel_symmetric_sum<double>(const Problem<float>&, float*);
template void kernel_symmetric_sum<double>(const Problem<double>&, double*);
template void kernel_energy<float>(const Problem<float>&, double*);
template void kernel_energy<float>(const Problem<double>&, double*);
template void kernel_energy<double>(const Problem<float>&, double*);
template void kernel_energy<double>(const Problem<double>&, double*);

}  // namespace gaussflow::direct
