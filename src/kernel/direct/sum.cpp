#include "kernel/direct/sum.hpp"

#include "kernel/direct/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace gaussflow::direct {
namespace {

/// Queries of a task: enough to keep the keys of a block busy in the cache, few enough to spread evenly.
constexpr std::int64_t most_task_rows = tile_groups * group_size, fewest_task_rows = 64;

/// Sums over keys are taken in at most this many chunks, whose bounds depend on N alone. A row's sum is always the sum of
/// its chunks in order, whether one thread made them all or each another.
constexpr std::int64_t most_chunks = 64;

struct Chunks {
  explicit Chunks(std::int64_t panels) : panels(panels) {
    const std::int64_t blocks = (panels + block_panels - 1) / block_panels;
    length = (blocks + most_chunks - 1) / most_chunks * block_panels;
    count = (panels + length - 1) / length;
  }
  std::int64_t panels, length, count;
};

/// The queries of a task.
struct Rows {
  template <class In>
  Rows(const Problem<In>& p, std::int64_t task_rows, std::int64_t task) {
    const std::int64_t tasks = (p.M + task_rows - 1) / task_rows;
    batch = task / tasks;
    first = task % tasks * task_rows;
    count = std::min(task_rows, p.M - first);
    groups = static_cast<int>((count + group_size - 1) / group_size);
  }
  std::int64_t batch, first, count;
  int groups;
};

/// Where a sum is at least this times Σ |v|, its terms have at most 24 bits t of Φ = 2^-t on average (−Φ log Φ is concave in
/// Φ). A bit carries up to 1.4 eps (a difference, counted twice, its square and the scale, of half an eps each), so that their
/// errors stay below 34 eps at the very worst. Points that are rounded to another type leave 16 bits (direct.cpp). Squares of
/// many coordinates are added one by one, which costs a pair three times that; of few keys one pair may be all there is of a
/// sum, so that it has to reach 2^-12 of a key's value.
template <class T, class In>
double faint(std::int64_t N) {
  return std::max(std::is_same_v<T, In> || sizeof(T) == 8 ? 0x1p-24 : 0x1p-16, 0x1p-12 / static_cast<double>(N));
}

/// Whether terms of a row that are far away may show in its sums: evaluated again, it would be better. A sum of 0 has no
/// terms of 2^-126 or more in units; it is right but where values above 1 bring such terms into the range of numbers.
template <class T, class In>
bool is_faint(const Problem<In>& p, const KeyStore<T>& store, const double* totals) {
  const double limit = faint<T, In>(p.N);
  const auto at = [totals](int c) { return std::abs(totals[c * group_size]); };
  if (p.kind == Kind::sum) {
    for (int c = 0; c < store.outputs; ++c) {
      const bool may_be_zero = sizeof(T) == 8 || store.units[c] <= 1;
      if (at(c) < limit * store.sizes[c] && (at(c) > 0 || !may_be_zero)) return true;
    }
    return false;
  }
  if (p.kind == Kind::field || !store.frame.small) return at(store.outputs - 1) < limit * store.sizes.back();
  double largest = 0;
  for (int c = 0; c < store.outputs; ++c) largest = std::max(largest, at(c));
  return largest < limit * store.sizes.back();
}

/// Whether faint rows are to be found: where a second evaluation would be better than the first.
template <class T, class In>
bool looks_for_faint_rows(const Problem<In>& p) {
  if (p.exponents != Exponents::checked || p.profile == Profile::imq || p.profile == Profile::riesz) return false;
  return sizeof(T) == 4 || (p.kind == Kind::sum && p.profile == Profile::gaussian);
}

/// block.totals += the sums over panels [first, last).
template <class T, class In>
void sum_panels(const Problem<In>& p, const KeyStore<T>& store, std::int64_t first, std::int64_t last, Block<T> block) {
  const FlushSubnormals flush;
  for (; first < last; first += block_panels) {
    block.first_panel = first;
    block.panels = static_cast<int>(std::min<std::int64_t>(block_panels, last - first));
    if constexpr (sizeof(T) == 8) {
      if (p.exponents == Exponents::compensated) {
        compensated_sum(block);
        continue;
      }
    }
    store.frame.small ? small_sum(block, p.kind, p.profile) : tiled_sum(block, p.profile);
  }
}

/// From the sums of a row to what was asked for.
template <class T, class In>
void write_row(const Problem<In>& p, const Output<In>& out, const KeyStore<T>& store, std::int64_t batch, std::int64_t m,
               const double* totals) {
  const auto total = [&](std::int64_t c) { return totals[c * group_size]; };
  const std::int64_t row = batch * p.M + m;
  const auto centred = [&](std::int64_t i) { return p.q.at(batch, m)[i * p.q.column] - store.frame.mean[i]; };
  switch (p.kind) {
    case Kind::sum:
      for (std::int64_t c = 0; c < p.C; ++c) out.value[row * p.C + c] = static_cast<In>(total(c) * store.units[c]);
      return;
    case Kind::field: {
      const double value = total(p.D) * store.units.back();
      out.value[row] = static_cast<In>(value);
      for (std::int64_t i = 0; i < p.D; ++i) {
        const double gradient = store.frame.small ? total(i) * store.units[0] * (p.tau / store.frame.scale)
                                                  : p.tau * (total(i) * store.units[i] - centred(i) * value);
        out.gradient[row * p.D + i] = static_cast<In>(gradient);
      }
      return;
    }
    case Kind::stein:
      for (std::int64_t i = 0; i < p.D; ++i) {
        double direction = total(i) * store.units[i];
        if (!store.frame.small) direction += p.tau * centred(i) * (total(p.D) * store.units[p.D]);
        out.value[row * p.D + i] = static_cast<In>(direction);
      }
      return;
  }
}

/// Rows [batch · M + m] once more, in fp64.
template <class In>
void repeat(const Problem<In>& p, Exponents exponents, const std::vector<std::int64_t>& rows, const Output<In>& out) {
  const std::int64_t columns = p.kind == Kind::stein ? p.D : p.C;
  for (std::size_t first = 0, last; first < rows.size(); first = last) {
    const std::int64_t batch = rows[first] / p.M;
    for (last = first; last < rows.size() && rows[last] / p.M == batch; ++last) {
    }
    const std::int64_t count = static_cast<std::int64_t>(last - first);
    std::vector<In> queries, value(count * columns), gradient(count * p.D);
    for (std::size_t i = first; i < last; ++i) {
      const In* x = p.q.at(batch, rows[i] % p.M);
      for (std::int64_t d = 0; d < p.D; ++d) queries.push_back(x[d * p.q.column]);
    }
    Problem<In> part = p;
    part.B = 1;
    part.M = count;
    part.exponents = exponents;
    part.q = {queries.data(), 0, p.D, 1};
    for (Array<In>* array : {&part.k, &part.v, &part.a}) {
      if (array->data != nullptr) array->data = array->at(batch, 0);
    }
    kernel_sum<double>(part, Output<In>{value.data(), gradient.data()});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = rows[first + static_cast<std::size_t>(i)];
      std::copy_n(value.data() + i * columns, columns, out.value + row * columns);
      if (p.kind == Kind::field) std::copy_n(gradient.data() + i * p.D, p.D, out.gradient + row * p.D);
    }
  }
}

}  // namespace

template <class T, class In>
void kernel_sum(const Problem<In>& p, const Output<In>& out) {
  const double work = static_cast<double>(p.B) * p.M * p.N * (2 * p.D + p.C + 12) / panel_width<T>;
  const auto tasks_of = [&p](std::int64_t rows) { return p.B * ((p.M + rows - 1) / rows); };
  const int threads = threads_for(tasks_of(fewest_task_rows) * most_chunks, work);
  const std::int64_t task_rows = tasks_of(most_task_rows) >= 4 * threads ? most_task_rows : fewest_task_rows;
  const std::int64_t row_tasks = tasks_of(task_rows);

  std::vector<KeyStore<T>> stores;
  bool tiled = false;
  for (std::int64_t b = 0; b < p.B; ++b) {
    stores.push_back(pack_keys<T>(p, b, threads));
    tiled = tiled || !stores[b].frame.small;
  }
  const Chunks chunks(stores[0].keys.panels);
  const std::int64_t widest = std::max<std::int64_t>(p.C, p.D + 1);
  std::vector<Scratch<T>> scratch;
  for (int t = 0; t < threads; ++t) scratch.emplace_back(task_rows, p.D, widest, tiled);

  /// totals := the sums of a task's rows over one chunk of keys.
  const auto sum_chunk = [&](const Rows& rows, std::int64_t chunk, const Scratch<T>& own, double* totals) {
    const KeyStore<T>& store = stores[rows.batch];
    std::fill_n(totals, rows.groups * group_size * store.outputs, 0.0);
    const std::int64_t first = chunk * chunks.length;
    sum_panels(p, store, first, std::min(chunks.panels, first + chunks.length),
               block_of(store, own.queries.get(), rows.groups, own.tile.get(), totals));
  };
  std::vector<std::uint8_t> faint_rows(looks_for_faint_rows<T>(p) ? p.B * p.M : 0);
  const auto write = [&](const Rows& rows, const double* totals) {
    const KeyStore<T>& store = stores[rows.batch];
    for (std::int64_t m = 0; m < rows.count; ++m) {
      const double* row = totals + m / group_size * store.outputs * group_size + m % group_size;
      write_row(p, out, store, rows.batch, rows.first + m, row);
      if (!faint_rows.empty()) faint_rows[rows.batch * p.M + rows.first + m] = is_faint<T, In>(p, store, row);
    }
  };

  if (row_tasks >= 2 * threads || threads == 1 || chunks.count == 1) {
    parallel_tasks(row_tasks, threads, [&](std::int64_t task, int thread) {
      const Rows rows(p, task_rows, task);
      const Scratch<T>& own = scratch[thread];
      pack_queries(p.q, rows.batch, rows.first, rows.count, p.D, stores[rows.batch].frame, own.queries.get());
      const std::int64_t entries = rows.groups * group_size * stores[rows.batch].outputs;
      std::fill_n(own.totals.get(), entries, 0.0);
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        sum_chunk(rows, chunk, own, own.partial.get());
        for (std::int64_t e = 0; e < entries; ++e) own.totals[e] += own.partial[e];
      }
      write(rows, own.totals.get());
    });
  } else {  // few queries: threads share them, each takes other keys
    const std::int64_t stride = task_rows * widest;
    const Buffer<double> partial(row_tasks * chunks.count * stride);
    parallel_tasks(row_tasks * chunks.count, threads, [&](std::int64_t item, int thread) {
      const Rows rows(p, task_rows, item / chunks.count);
      const Scratch<T>& own = scratch[thread];
      pack_queries(p.q, rows.batch, rows.first, rows.count, p.D, stores[rows.batch].frame, own.queries.get());
      sum_chunk(rows, item % chunks.count, own, partial.get() + item * stride);
    });
    for (std::int64_t task = 0; task < row_tasks; ++task) {
      const Rows rows(p, task_rows, task);
      const std::int64_t entries = rows.groups * group_size * stores[rows.batch].outputs;
      double* totals = scratch[0].totals.get();
      std::fill_n(totals, entries, 0.0);
      for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
        const double* from = partial.get() + (task * chunks.count + chunk) * stride;
        for (std::int64_t e = 0; e < entries; ++e) totals[e] += from[e];
      }
      write(rows, totals);
    }
  }

  std::vector<std::int64_t> again;
  for (std::size_t row = 0; row < faint_rows.size(); ++row) {
    if (faint_rows[row]) again.push_back(static_cast<std::int64_t>(row));
  }
  if (!again.empty()) repeat(p, sizeof(T) == 4 ? Exponents::plain : Exponents::compensated, again, out);
}

template void kernel_sum<float>(const Problem<float>&, const Output<float>&);
template void kernel_sum<float>(const Problem<double>&, const Output<double>&);
template void kernel_sum<double>(const Problem<float>&, const Output<float>&);
template void kernel_sum<double>(const Problem<double>&, const Output<double>&);

}  // namespace gaussflow::direct
