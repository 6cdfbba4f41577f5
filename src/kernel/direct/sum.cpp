#include "kernel/direct/direct.hpp"
#include "kernel/direct/kernels.hpp"
#include "kernel/direct/pack.hpp"
#include "kernel/direct/parallel.hpp"

#include <algorithm>

namespace gaussflow::direct {
namespace {

/// Queries of a task: long enough to keep the keys of a block busy in the cache, short enough to spread evenly.
constexpr std::int64_t task_rows = 64;
/// Sums over keys are taken in at most this many chunks, whose bounds depend on N alone. A row's sum is always the sum of
/// its chunks in order, whether one thread made them all or each another.
constexpr std::int64_t most_chunks = 64;

struct Chunks {
  template <class T>
  explicit Chunks(const KeyStore<T>& store)
      : panels(store.keys.panels), block(store.frame.small ? small_block : tiled_block) {
    const std::int64_t blocks = (panels + block - 1) / block;
    length = (blocks + most_chunks - 1) / most_chunks * block;
    count = (panels + length - 1) / length;
  }
  std::int64_t panels, block, length, count;
};

/// The queries of a task.
struct Rows {
  template <class In>
  Rows(const Problem<In>& p, std::int64_t task) {
    const std::int64_t tasks = (p.M + task_rows - 1) / task_rows;
    batch = task / tasks;
    first = task % tasks * task_rows;
    count = std::min(task_rows, p.M - first);
    groups = static_cast<int>((count + group_size - 1) / group_size);
  }
  std::int64_t batch, first, count;
  int groups;
};

/// What a thread works with.
template <class T>
struct Scratch {
  Scratch(std::int64_t dim, std::int64_t channels, bool tiled)
      : queries(task_rows * dim),
        tile(tiled ? tile_size<T> : 0),
        totals(task_rows * channels),
        chunk(task_rows * channels) {}
  Buffer<T> queries, tile;
  Buffer<double> totals, chunk;
};

/// totals [group][channel][4] := the sums over one chunk of keys for the queries in `own`.
template <class T>
void sum_chunk(const KeyStore<T>& store, std::int64_t index, Profile profile, const Scratch<T>& own, int groups,
               double* totals) {
  const Chunks chunks(store);
  std::fill_n(totals, std::int64_t(groups) * group_size * store.keys.channels, 0.0);
  const std::int64_t end = std::min(chunks.panels, (index + 1) * chunks.length);
  for (std::int64_t panel = index * chunks.length; panel < end; panel += chunks.block) {
    const Block<T> block{store.keys,        panel,  static_cast<int>(std::min(chunks.block, end - panel)),
                         own.queries.get(), groups, static_cast<T>(store.frame.argument_scale),
                         own.tile.get(),    totals};
    if (store.frame.small) {
      small_sum(block);
    } else {
      tiled_sum(block, profile);
    }
  }
}

}  // namespace

template <class T, class In>
void kernel_sum(const Problem<In>& p, In* out) {
  const double work = static_cast<double>(p.B) * p.M * p.N * (2 * p.D + p.C + 12) / panel_width<T>;
  const std::int64_t row_tasks = p.B * ((p.M + task_rows - 1) / task_rows);
  const int threads = threads_for(row_tasks * most_chunks, work);

  std::vector<KeyStore<T>> stores;
  std::int64_t chunks = 1;
  bool tiled = false;
  for (std::int64_t b = 0; b < p.B; ++b) {
    stores.push_back(pack_keys<T>(p, b, threads));
    chunks = std::max(chunks, Chunks(stores[b]).count);
    tiled = tiled || !stores[b].frame.small;
  }
  std::vector<Scratch<T>> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(p.D, p.C, tiled);

  const auto rows_of = [&](std::int64_t task) { return Rows(p, task); };
  const auto write = [&](const Rows& rows, const double* totals) {
    for (std::int64_t m = 0; m < rows.count; ++m) {
      In* row = out + (rows.batch * p.M + rows.first + m) * p.C;
      const double* from = totals + m / group_size * p.C * group_size + m % group_size;
      for (std::int64_t c = 0; c < p.C; ++c) {
        row[c] = static_cast<In>(from[c * group_size] * stores[rows.batch].units[c]);
      }
    }
  };

  if (row_tasks >= 2 * threads || threads == 1 || chunks == 1) {
    parallel_tasks(row_tasks, threads, [&](std::int64_t task, int thread) {
      const Rows rows = rows_of(task);
      const KeyStore<T>& store = stores[rows.batch];
      const Scratch<T>& own = scratch[thread];
      pack_queries(p.q, rows.batch, rows.first, rows.count, p.D, store.frame, own.queries.get());
      const std::int64_t entries = rows.groups * group_size * p.C;
      std::fill_n(own.totals.get(), entries, 0.0);
      for (std::int64_t i = 0; i < Chunks(store).count; ++i) {
        sum_chunk(store, i, p.profile, own, rows.groups, own.chunk.get());
        for (std::int64_t e = 0; e < entries; ++e) own.totals[e] += own.chunk[e];
      }
      write(rows, own.totals.get());
    });
    return;
  }

  // Few queries: threads share them, each takes other keys.
  const std::int64_t stride = task_rows * p.C;
  const Buffer<double> partial(row_tasks * chunks * stride);
  parallel_tasks(row_tasks * chunks, threads, [&](std::int64_t item, int thread) {
    const Rows rows = rows_of(item / chunks);
    const KeyStore<T>& store = stores[rows.batch];
    if (item % chunks >= Chunks(store).count) return;
    const Scratch<T>& own = scratch[thread];
    pack_queries(p.q, rows.batch, rows.first, rows.count, p.D, store.frame, own.queries.get());
    sum_chunk(store, item % chunks, p.profile, own, rows.groups, partial.get() + item * stride);
  });
  for (std::int64_t task = 0; task < row_tasks; ++task) {
    const Rows rows = rows_of(task);
    double* totals = scratch[0].totals.get();
    std::fill_n(totals, stride, 0.0);
    for (std::int64_t i = 0; i < Chunks(stores[rows.batch]).count; ++i) {
      const double* from = partial.get() + (task * chunks + i) * stride;
      for (std::int64_t e = 0; e < rows.groups * group_size * p.C; ++e) totals[e] += from[e];
    }
    write(rows, totals);
  }
}

template void kernel_sum<float, float>(const Problem<float>&, float*);
template void kernel_sum<double, double>(const Problem<double>&, double*);
template void kernel_sum<float, double>(const Problem<double>&, double*);
template void kernel_sum<double, float>(const Problem<float>&, float*);

}  // namespace gaussflow::direct
