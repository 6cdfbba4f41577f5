#include "kernel/direct/pack.hpp"

#include "kernel/direct/kernels.hpp"
#include "kernel/direct/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace gaussflow::direct {
namespace {

constexpr long double log2e = 1.4426950408889634073599L;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The profile's argument is this times ‖q − k‖² (profiles-inl.hpp).
long double argument_factor(Profile profile, long double tau) {
  switch (profile) {
    case Profile::gaussian:
      return tau / 2 * log2e;
    case Profile::laplace:
      return tau * log2e * log2e;
    case Profile::imq:
      return tau;
    case Profile::riesz:
      return 1;
    case Profile::matern32:
      return 3 * tau;
    case Profile::matern52:
      return 5 * tau;
  }
  return tau;
}

/// What a column of numbers spans; NaN shows in the sum alone.
struct Range {
  void add(double x) {
    low = x < low ? x : low;
    high = x > high ? x : high;
    sum += x;
    size += std::abs(x);
  }
  void add(const Range& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    sum += other.sum;
    size += other.size;
  }
  double absolute() const { return std::max(std::abs(low), std::abs(high)); }
  double low = infinity, high = -infinity, sum = 0, size = 0;  // size: the sum of |x|
};

/// Ranges of the columns of the matrix that load(row, column) gives, in chunks of rows whose sums are added in order.
template <class Load>
std::vector<Range> ranges_of(std::int64_t rows, std::int64_t columns, int threads, const Load& load) {
  constexpr std::int64_t chunk = 1024;
  const std::int64_t chunks = (rows + chunk - 1) / chunk;
  std::vector<Range> parts(chunks * columns);
  parallel_tasks(chunks, threads, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(rows, (task + 1) * chunk);
    for (std::int64_t c = 0; c < columns; ++c) {
      Range four[4];  // four chains hide the latency of one
      std::int64_t n = task * chunk;
      for (; n + 4 <= end; n += 4) {
        for (int lane = 0; lane < 4; ++lane) four[lane].add(load(n + lane, c));
      }
      for (; n < end; ++n) four[0].add(load(n, c));
      for (const Range& range : four) parts[task * columns + c].add(range);
    }
  });
  for (std::int64_t i = columns; i < chunks * columns; ++i) parts[i % columns].add(parts[i]);
  parts.resize(columns);
  return parts;
}

template <class In>
std::vector<Range> ranges_of(const Array<In>& array, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                             int threads) {
  return ranges_of(rows, columns, threads, [&](std::int64_t n, std::int64_t c) {
    return static_cast<double>(array.at(batch, n)[c * array.column]);
  });
}

/// Largest |x − mean| of any coordinate; NaN where one is NaN.
double extent_of(const std::vector<Range>& ranges, std::int64_t rows) {
  double extent = 0;
  for (const Range& range : ranges) {
    const double mean = range.sum / static_cast<double>(rows);
    if (std::isnan(mean)) return mean;
    extent = std::max({extent, range.high - mean, mean - range.low});
  }
  return extent;
}

template <class Compute, class In>
Frame frame_of(const Problem<In>& p, std::int64_t batch, int threads) {
  const long double factor = argument_factor(p.profile, p.tau);
  const bool gaussian = p.profile == Profile::gaussian;
  const bool few = p.kind != Kind::sum ? gaussian : p.C <= (gaussian ? small_channels : 1);
  const bool small = p.D <= small_dim && few && p.exponents != Exponents::compensated;
  const bool rounds = !std::is_same_v<Compute, In>;
  const bool mean_in_values = p.kind != Kind::sum && !small;
  std::vector<double> origin(p.D, 0.0), mean(origin);
  if (rounds || mean_in_values) {
    const std::vector<Range> ranges = ranges_of(p.k, batch, p.N, p.D, threads);
    if (extent_of(ranges, p.N) < infinity) {
      for (std::int64_t i = 0; i < p.D; ++i) mean[i] = ranges[i].sum / static_cast<double>(p.N);
    }
  }
  const double root = static_cast<double>(std::sqrt(factor));
  const double scale = std::exp2(std::round(std::log2(root)));
  const long double argument_scale = factor / (scale * scale);
  const double high = static_cast<double>(argument_scale);
  return {small, rounds ? mean : origin, scale, high, static_cast<double>(argument_scale - high), mean};
}

/// Calls f with the function (n, channel) → value that is packed for this kind of sum.
template <class In, class F>
void with_values(const Problem<In>& p, std::int64_t batch, const Frame& frame, const F& f) {
  const auto v = [&p, batch](std::int64_t n, std::int64_t c) {
    return static_cast<double>(p.v.at(batch, n)[c * p.v.column]);
  };
  const auto centred = [&](std::int64_t n, std::int64_t i) { return p.k.at(batch, n)[i * p.k.column] - frame.mean[i]; };
  if (p.kind == Kind::sum || (p.kind == Kind::field && frame.small)) {
    f(v);
  } else if (p.kind == Kind::field) {  // (w (k − mean), w)
    f([&](std::int64_t n, std::int64_t c) { return c == p.D ? v(n, 0) : v(n, 0) * centred(n, c); });
  } else {
    const auto a = [&](std::int64_t n) { return static_cast<double>(p.a.at(batch, n)[0]); };
    if (frame.small) {  // (a s, a τ / scale): the kernel's differences are in packed units
      f([&](std::int64_t n, std::int64_t c) { return a(n) * (c == p.D ? p.tau / frame.scale : v(n, c)); });
    } else {  // (a (s − τ (k − mean)), a)
      f([&](std::int64_t n, std::int64_t c) { return a(n) * (c == p.D ? 1.0 : v(n, c) - p.tau * centred(n, c)); });
    }
  }
}

/// The power of two that brings numbers of this range into (−1, 1).
double unit_of(const Range& range) {
  const double largest = range.absolute();
  int exponent = 0;
  if (largest > 0 && largest < infinity) std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(exponent, -1021, 1021));
}

}  // namespace

template <class T, class In>
KeyStore<T> pack_keys(const Problem<In>& p, std::int64_t batch, int threads) {
  constexpr int width = panel_width<T>;
  const std::int64_t panels = (p.N + width - 1) / width;
  Frame frame = frame_of<T>(p, batch, threads);
  const int dim = static_cast<int>(p.D), with_one = dim + 1;
  const int channels = p.kind == Kind::sum ? static_cast<int>(p.C) : p.kind == Kind::field && frame.small ? 1 : with_one;
  const int outputs = p.kind == Kind::sum ? channels : p.kind == Kind::stein && frame.small ? dim : with_one;
  KeyStore<T> store{
      Buffer<T>(panels * width * dim), Buffer<T>(panels * width * channels), {}, std::move(frame), outputs, {}, {}};
  store.keys = {store.points.get(), store.values.get(), panels, dim, channels};
  const ChannelParts parts(channels);

  with_values(p, batch, store.frame, [&](const auto& value) {
    for (const Range& range : ranges_of(p.N, channels, threads, value)) {
      store.units.push_back(unit_of(range));
      store.sizes.push_back(range.size / store.units.back());
    }
    if (p.kind == Kind::stein && store.frame.small) {  // both terms of a product must agree
      std::fill(store.units.begin(), store.units.end(), *std::max_element(store.units.begin(), store.units.end()));
    }
    constexpr std::int64_t chunk = 256;
    parallel_tasks((panels + chunk - 1) / chunk, threads, [&](std::int64_t task, int) {
      for (std::int64_t panel = task * chunk; panel < std::min(panels, (task + 1) * chunk); ++panel) {
        const std::int64_t first = panel * width;
        const int present = static_cast<int>(std::min<std::int64_t>(width, p.N - first));
        T* point = store.points.get() + panel * dim * width;
        for (int i = 0; i < dim; ++i, point += width) {
          const In* x = p.k.at(batch, first) + i * p.k.column;
          const double centre = store.frame.centre[i], scale = store.frame.scale;
          if (std::is_same_v<T, In>) {  // exact in T, and twice as fast
            for (int lane = 0; lane < present; ++lane)
              point[lane] = static_cast<T>(x[lane * p.k.row]) * static_cast<T>(scale);
          } else {
            for (int lane = 0; lane < present; ++lane) point[lane] = static_cast<T>((x[lane * p.k.row] - centre) * scale);
          }
          // A key that fills the panel up stands where a true one does: it is not NaN where nothing else is.
          for (int lane = present; lane < width; ++lane) point[lane] = point[0];
        }
        for (int part = 0; part < parts.count; ++part) {
          T* packed = store.values.get() + (panels * parts.begin(part) + panel * parts.width(part)) * width;
          for (int c = parts.begin(part); c < parts.begin(part + 1); ++c, packed += width) {
            const double inverse = 1 / store.units[c];
            for (int lane = 0; lane < present; ++lane) packed[lane] = static_cast<T>(value(first + lane, c) * inverse);
            for (int lane = present; lane < width; ++lane) packed[lane] = 0;
          }
        }
      }
    });
  });
  return store;
}

template <class T, class In>
void pack_queries(const Array<In>& q, std::int64_t batch, std::int64_t first, std::int64_t count, std::int64_t dim,
                  const Frame& frame, T* out) {
  const std::int64_t groups = (count + group_size - 1) / group_size;
  for (std::int64_t g = 0; g < groups; ++g, out += dim * group_size) {
    for (int r = 0; r < group_size; ++r) {
      const In* x = q.at(batch, first + std::min(g * group_size + r, count - 1));
      for (std::int64_t i = 0; i < dim; ++i) {
        out[i * group_size + r] = static_cast<T>((x[i * q.column] - frame.centre[i]) * frame.scale);
      }
    }
  }
}

template <class In>
Extent extent_of(const Array<In>& points, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  Extent extent;
  const int threads = threads_for(rows, static_cast<double>(rows * columns));
  for (std::int64_t b = 0; b < batches; ++b) {
    const std::vector<Range> ranges = ranges_of(points, b, rows, columns, threads);
    const double centred = extent_of(ranges, rows);
    if (std::isnan(centred)) return {centred, centred};
    extent.centred = std::max(extent.centred, centred);
    for (const Range& range : ranges) extent.absolute = std::max(extent.absolute, range.absolute());
  }
  return extent;
}

#define GAUSSFLOW_INSTANTIATE(T, In)                                                                                        \
  template KeyStore<T> pack_keys<T, In>(const Problem<In>&, std::int64_t, int);                                             \
  template void pack_queries<T, In>(const Array<In>&, std::int64_t, std::int64_t, std::int64_t, std::int64_t, const Frame&, \
                                    T*);
GAUSSFLOW_INSTANTIATE(float, float)
GAUSSFLOW_INSTANTIATE(double, double)
GAUSSFLOW_INSTANTIATE(float, double)
GAUSSFLOW_INSTANTIATE(double, float)
#undef GAUSSFLOW_INSTANTIATE
template Extent extent_of(const Array<float>&, std::int64_t, std::int64_t, std::int64_t);
template Extent extent_of(const Array<double>&, std::int64_t, std::int64_t, std::int64_t);

}  // namespace gaussflow::direct
