#include "kernel/direct/pack.hpp"

#include "kernel/direct/kernels.hpp"
#include "kernel/direct/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace gaussflow::direct {
namespace {

constexpr double log2e = 1.4426950408889634074;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rounding scaled coordinates to their last bit moves a sum by up to 2 eps at 32, by 9 at 128. (Φ ends at 11.2 in fp32.)
constexpr double scaled_extent = 32;

/// Farther from the mean of scaled keys every Φ is 0, and the exponential needs squares below 1e12.
constexpr double far_away = 1e5;

/// The profile's argument is this times ‖q − k‖² (profiles-inl.hpp).
double argument_factor(Profile profile, double tau) {
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

struct Spread {
  std::vector<double> mean;
  double absolute = 0;  ///< largest |x| of any coordinate
  double extent = 0;    ///< largest |x − mean|
};

template <class In>
Spread spread_of(const Array<In>& points, std::int64_t batch, std::int64_t count, std::int64_t dim) {
  Spread spread{std::vector<double>(dim)};
  std::vector<double> low(dim, infinity), high(dim, -infinity);
  for (std::int64_t n = 0; n < count; ++n) {
    const In* x = points.at(batch, n);
    for (std::int64_t i = 0; i < dim; ++i) {
      const double value = x[i * points.column];
      spread.mean[i] += value;
      low[i] = std::min(low[i], value);
      high[i] = std::max(high[i], value);
    }
  }
  for (std::int64_t i = 0; i < dim; ++i) {
    double& mean = spread.mean[i];
    mean /= static_cast<double>(count);
    if (std::isnan(mean)) {  // minimum and maximum pass over NaN
      spread.absolute = spread.extent = mean;
      return spread;
    }
    spread.extent = std::max({spread.extent, high[i] - mean, mean - low[i]});
    spread.absolute = std::max({spread.absolute, std::abs(high[i]), std::abs(low[i])});
  }
  return spread;
}

template <class Compute, class In>
Frame frame_of(const Problem<In>& p, std::int64_t batch) {
  const double factor = argument_factor(p.profile, p.tau);
  const bool small = p.profile == Profile::gaussian && p.D <= small_dim && (p.kind != Kind::sum || p.C <= small_channels);
  const bool exact = std::is_same_v<Compute, In>;
  const bool mean_in_values = p.kind != Kind::sum && !small;
  std::vector<double> origin(p.D, 0.0), mean(origin);
  double extent = infinity;
  if (small || !exact || mean_in_values) {
    Spread spread = spread_of(p.k, batch, p.N, p.D);
    extent = spread.extent;
    if (extent < infinity) mean = std::move(spread.mean);
  }
  const double root = std::sqrt(factor);
  if (small && extent * root <= scaled_extent) return {true, true, mean, root, 1.0, {}};
  const double scale = std::exp2(std::round(std::log2(root)));
  return {small, false, exact ? origin : mean, scale, factor / (scale * scale), mean};
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

template <class Value>
std::vector<double> units_of(const Value& value, std::int64_t count, int channels) {
  std::vector<double> units(channels, 0.0);
  for (std::int64_t n = 0; n < count; ++n) {
    for (int c = 0; c < channels; ++c) units[c] = std::max(units[c], std::abs(value(n, c)));
  }
  for (double& unit : units) {
    int exponent = 0;
    if (unit > 0 && unit < infinity) std::frexp(unit, &exponent);
    unit = std::ldexp(1.0, std::clamp(exponent, -1021, 1021));
  }
  return units;
}

}  // namespace

template <class T, class In>
KeyStore<T> pack_keys(const Problem<In>& p, std::int64_t batch, int threads) {
  constexpr int width = panel_width<T>;
  const std::int64_t panels = (p.N + width - 1) / width;
  Frame frame = frame_of<T>(p, batch);
  const int dim = static_cast<int>(p.D), with_one = dim + 1;
  const int channels = p.kind == Kind::sum ? static_cast<int>(p.C) : p.kind == Kind::field && frame.small ? 1 : with_one;
  const int outputs = p.kind == Kind::sum ? channels : p.kind == Kind::stein && frame.small ? dim : with_one;
  KeyStore<T> store{
      Buffer<T>(panels * width * dim), Buffer<T>(panels * width * channels), {}, std::move(frame), outputs, {}};
  store.keys = {store.points.get(), store.values.get(), panels, dim, channels};
  const ChannelParts parts(channels);

  with_values(p, batch, store.frame, [&](const auto& value) {
    store.units = units_of(value, p.N, channels);
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
          for (int lane = 0; lane < present; ++lane) point[lane] = static_cast<T>((x[lane * p.k.row] - centre) * scale);
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
        double value = (x[i * q.column] - frame.centre[i]) * frame.scale;
        if (frame.scaled) value = value > far_away ? far_away : value < -far_away ? -far_away : value;  // NaN stays
        out[i * group_size + r] = static_cast<T>(value);
      }
    }
  }
}

template <class In>
Extent extent_of(const Array<In>& points, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  Extent extent;
  for (std::int64_t b = 0; b < batches; ++b) {
    const Spread spread = spread_of(points, b, rows, columns);
    if (std::isnan(spread.extent)) return {spread.extent, spread.extent};
    extent.absolute = std::max(extent.absolute, spread.absolute);
    extent.centred = std::max(extent.centred, spread.extent);
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
