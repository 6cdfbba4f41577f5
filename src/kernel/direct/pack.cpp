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

/// The small kernel rounds scaled coordinates to their last bit: at 32 that moves a sum by up to 2 eps, 9 eps at 128.
/// Beyond, the tiled kernel takes exact differences. 11.2 is where Φ ends in fp32.
constexpr double small_extent = 32;

/// Beyond this every Φ is 0; the small kernel's exponential needs squares below 1e12.
constexpr double far_away = 1e5;

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
  constexpr double infinity = std::numeric_limits<double>::infinity();
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
    // NaN must survive, so that no bound holds for it.
    const double extent = std::max(high[i] - mean, mean - low[i]);
    spread.extent = std::isnan(mean) ? mean : std::max(spread.extent, extent);
    if (std::isnan(mean)) return spread;
    spread.absolute = std::max({spread.absolute, std::abs(high[i]), std::abs(low[i])});
  }
  return spread;
}

}  // namespace

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

template <class Compute, class In>
Frame frame_of(const Problem<In>& p, std::int64_t batch) {
  const double factor = argument_factor(p.profile, p.tau);
  const bool candidate = p.profile == Profile::gaussian && p.D <= small_dim && p.C <= small_channels;
  const bool exact = std::is_same_v<Compute, In>;
  std::vector<double> centre(p.D, 0.0);
  if (candidate || !exact) {
    Spread spread = spread_of(p.k, batch, p.N, p.D);
    const bool finite = spread.extent < std::numeric_limits<double>::infinity();
    const double scale = std::sqrt(factor);
    if (candidate && spread.extent * scale <= small_extent) return {true, std::move(spread.mean), scale, 1.0};
    if (!exact && finite) centre = std::move(spread.mean);
  }
  const double scale = std::exp2(std::round(std::log2(factor) / 2));
  return {false, std::move(centre), scale, factor / (scale * scale)};
}

template <class In>
std::vector<double> value_units(const Problem<In>& p, std::int64_t batch) {
  std::vector<double> units(p.C, 0.0);
  for (std::int64_t n = 0; n < p.N; ++n) {
    const In* v = p.v.at(batch, n);
    for (std::int64_t c = 0; c < p.C; ++c) units[c] = std::max(units[c], std::abs(static_cast<double>(v[c * p.v.column])));
  }
  for (double& unit : units) {
    int exponent = 0;
    if (unit > 0 && std::isfinite(unit)) std::frexp(unit, &exponent);
    unit = std::ldexp(1.0, std::clamp(exponent, -1021, 1022));
  }
  return units;
}

template <class T, class In>
KeyStore<T> pack_keys(const Problem<In>& p, std::int64_t batch, int threads) {
  constexpr int width = panel_width<T>;
  const std::int64_t panels = (p.N + width - 1) / width;
  const int dim = static_cast<int>(p.D), channels = static_cast<int>(p.C);
  KeyStore<T> store{Buffer<T>(panels * width * dim),
                    Buffer<T>(panels * width * channels),
                    {},
                    frame_of<T>(p, batch),
                    value_units(p, batch)};
  store.keys = {store.points.get(), store.values.get(), panels, dim, channels};
  const ChannelParts parts(channels);
  std::vector<double> inverse(store.units);
  for (double& unit : inverse) unit = 1 / unit;

  constexpr std::int64_t chunk = 256;
  const std::int64_t tasks = (panels + chunk - 1) / chunk;
  parallel_tasks(tasks, threads, [&](std::int64_t task, int) {
    for (std::int64_t panel = task * chunk; panel < std::min(panels, (task + 1) * chunk); ++panel) {
      const std::int64_t first = panel * width;
      const int present = static_cast<int>(std::min<std::int64_t>(width, p.N - first));
      T* point = store.points.get() + panel * dim * width;
      for (int i = 0; i < dim; ++i, point += width) {
        const In* x = p.k.at(batch, first) + i * p.k.column;
        const double centre = store.frame.centre[i], scale = store.frame.scale;
        for (int lane = 0; lane < present; ++lane) point[lane] = static_cast<T>((x[lane * p.k.row] - centre) * scale);
        // A key that fills the panel up stands where a true one does, so that it is not NaN where nothing else is.
        for (int lane = present; lane < width; ++lane) point[lane] = point[0];
      }
      for (int part = 0; part < parts.count; ++part) {
        T* value = store.values.get() + (panels * parts.begin(part) + panel * parts.width(part)) * width;
        for (int c = parts.begin(part); c < parts.begin(part + 1); ++c, value += width) {
          const In* v = p.v.at(batch, first) + c * p.v.column;
          for (int lane = 0; lane < present; ++lane) value[lane] = static_cast<T>(v[lane * p.v.row] * inverse[c]);
          for (int lane = present; lane < width; ++lane) value[lane] = 0;
        }
      }
    }
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
        if (frame.small) value = value > far_away ? far_away : value < -far_away ? -far_away : value;  // NaN stays
        out[i * group_size + r] = static_cast<T>(value);
      }
    }
  }
}

#define GAUSSFLOW_INSTANTIATE(T, In)                                                                                        \
  template Frame frame_of<T, In>(const Problem<In>&, std::int64_t);                                                         \
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
template std::vector<double> value_units(const Problem<float>&, std::int64_t);
template std::vector<double> value_units(const Problem<double>&, std::int64_t);

}  // namespace gaussflow::direct
