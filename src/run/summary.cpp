#include "run/summary.hpp"

#include "gaussflow/core/text.hpp"
#include "gaussflow/kernel/mmd.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace gaussflow::run {

Moments sample_moments(const Tensor& x, const Tensor& weights) {
  const Tensor points = x.to(at::kCPU, at::kDouble);
  if (!weights.defined()) return {points.mean(0), points.std(0, /*unbiased=*/false)};
  const Tensor w = weights.to(at::kCPU, at::kDouble).unsqueeze(1);
  const Tensor mean = (w * points).sum(0);
  return {mean, (w * (points - mean).square()).sum(0).sqrt()};
}

namespace {

/// Errors of the means in sds, and ratios of variances; coordinates whose reference has no sd are left out and counted.
std::string comparison(const std::vector<double>& mean, const std::vector<double>& sd, const std::vector<double>& ref_mean,
                       const std::vector<double>& ref_sd) {
  double squares = 0, ratio = 0, low = INFINITY, high = 0, off = 0;
  std::size_t constant = 0, used = 0;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (!std::isfinite(ref_sd[i])) continue;
    if (ref_sd[i] == 0) {
      ++constant;
      off = std::max(off, std::abs(mean[i] - ref_mean[i]));
      continue;
    }
    ++used;
    const double error = (mean[i] - ref_mean[i]) / ref_sd[i];
    const double r = std::pow(sd[i] / ref_sd[i], 2);
    squares += error * error;
    ratio += r;
    low = std::min(low, r);
    high = std::max(high, r);
  }
  std::string text;
  const auto d = static_cast<double>(used);
  const auto short_text = [](double value) {
    return value < 1e4 ? fmt::format("{:.3f}", value) : fmt::format("{:.3g}", value);
  };
  if (used > 0)
    text = fmt::format("  against the reference: rms error of the means {} sd, variance ratio {} (from {} to {})\n",
                       short_text(std::sqrt(squares / d)), short_text(ratio / d), short_text(low), short_text(high));
  if (constant > 0)
    text += fmt::format("  constant in the reference{}: {} of {} coordinates, means off by {:.2g} at most\n",
                        used > 0 ? " and left out of that" : "", constant, mean.size(), off);
  return text;
}

}  // namespace

std::string moments_table(const Moments& found, const std::optional<Moments>& reference,
                          const std::vector<std::string>& names, std::size_t columns, std::size_t limit) {
  constexpr std::size_t indent = 2, numbers = 22, more = 25, shortest = 9, longest = 28;
  const std::vector<double> mean = to_vector(found.mean), sd = to_vector(found.sd);
  std::size_t wide = shortest;
  for (const std::string& name : names) wide = std::max(wide, std::min(name.size(), longest));
  const bool beside = indent + wide + numbers + (reference ? more : 0) <= columns;
  if (!beside) wide = std::clamp(columns - std::min(columns, indent + numbers), shortest, wide);
  std::string text = fmt::format("  {:<{}} {:>10} {:>10}", "", wide, "mean", "sd");
  std::vector<double> ref_mean, ref_sd;
  if (reference) {
    ref_mean = to_vector(reference->mean);
    ref_sd = to_vector(reference->sd);
    if (beside) text += fmt::format("   {:>10} {:>10}", "reference", "sd");
  }
  text += "\n";
  for (std::size_t i = 0; i < std::min(mean.size(), limit); ++i) {
    text += fmt::format("  {:<{}} {:>10.4g} {:>10.4g}", std::string_view(names[i]).substr(0, wide), wide, mean[i], sd[i]);
    if (reference && !beside) text += fmt::format("\n  {:>{}}", "reference", wide);
    if (reference) text += fmt::format("{}{:>10.4g} {:>10.4g}", beside ? "   " : " ", ref_mean[i], ref_sd[i]);
    text += "\n";
  }
  if (mean.size() > limit) text += fmt::format("  … and {} more in samples.h5\n", mean.size() - limit);
  if (reference) text += comparison(mean, sd, ref_mean, ref_sd);
  return text;
}

std::string scatter(const Tensor& x, const std::vector<std::string>& names, std::size_t columns) {
  constexpr int narrowest = 16, widest = 64, frame = 4, height = 20;
  const int width = std::clamp(static_cast<int>(std::min<std::size_t>(columns, 1000)) - frame, narrowest, widest);
  const Tensor points = x.to(at::kCPU, at::kDouble);
  const std::int64_t n = points.size(0);
  if (n == 0) return "";
  const bool flat = points.size(1) < 2;
  const Tensor horizontal = points.select(1, 0).contiguous();
  const Tensor vertical = flat ? Tensor() : points.select(1, 1).contiguous();
  const auto range = [](const Tensor& t) {
    double low = t.min().item<double>(), high = t.max().item<double>();
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    return std::array<double, 2>{low, high};
  };
  const auto cell = [](double value, const std::array<double, 2>& r, int cells) {
    return std::clamp(static_cast<int>((value - r[0]) / (r[1] - r[0]) * cells), 0, cells - 1);
  };
  const auto rx = range(horizontal);
  std::vector<int> counts(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0);
  std::array<double, 2> ry{0, 1};
  if (flat) {
    std::vector<int> bars(static_cast<std::size_t>(width), 0);
    for (std::int64_t i = 0; i < n; ++i) ++bars[cell(horizontal.const_data_ptr<double>()[i], rx, width)];
    const int top = *std::max_element(bars.begin(), bars.end());
    ry = {0, static_cast<double>(top)};
    for (int c = 0; c < width; ++c)
      for (int r = 0; r < bars[c] * height / std::max(top, 1); ++r)
        counts[static_cast<std::size_t>((height - 1 - r) * width + c)] = 3;
  } else {
    ry = range(vertical);
    for (std::int64_t i = 0; i < n; ++i) {
      const int c = cell(horizontal.const_data_ptr<double>()[i], rx, width);
      const int r = height - 1 - cell(vertical.const_data_ptr<double>()[i], ry, height);
      ++counts[static_cast<std::size_t>(r * width + c)];
    }
  }
  std::string text = fmt::format("  {} {}\n", flat ? "count" : names[1], number_text(std::round(ry[1] * 1e3) / 1e3));
  for (int r = 0; r < height; ++r) {
    text += "  |";
    for (int c = 0; c < width; ++c) {
      constexpr std::string_view shades = " .:o#@";
      const int count = counts[static_cast<std::size_t>(r * width + c)];
      text += shades[static_cast<std::size_t>(count == 0   ? 0
                                              : count == 1 ? 1
                                              : count == 2 ? 2
                                              : count <= 4 ? 3
                                              : count <= 8 ? 4
                                                           : 5)];
    }
    text += "|\n";
  }
  const std::string from = fmt::format("({} from {:.3g})", flat ? "count" : names[1], ry[0]);
  const auto room = static_cast<std::size_t>(std::max(1, width - 14));
  text += fmt::format("  {:<8.3g}{:^{}}{:>8.3g}", rx[0], std::string_view(names[0]).substr(0, width < widest ? room : -1),
                      room, rx[1]);
  text += fmt::format("{}{}\n", width < widest ? "\n  " : "   ", from);
  return text;
}

std::string summary(const RunConfig& config, const Simulation& simulation, const Verdict& verdict, const Ending& ending) {
  const State& state = simulation.state();
  const Target& target = simulation.target();
  const Tensor x = target.constrain(state.x.to(at::kCPU));
  const Tensor w = state.log_weights.defined() ? weights(state) : Tensor();
  const bool diverged = verdict.word == "diverged";  // an error will say so
  std::string text = fmt::format("\n{} after {} of {} onto {}\n", counted(state.x.size(0), "particle"),
                                 counted(state.step, "step"), config.flow.name, config.target.name);
  if (const std::string caption = target.caption(); !caption.empty()) text += fmt::format("  {}\n", caption);
  text += moments_table(sample_moments(x, w), target.reference(), target.names(), ending.columns);
  if (target.has_samples()) {
    const Cloud y = target.all_samples(at::kDouble);
    if (state.x.size(0) + y.points.size(0) <= 20000)
      text += fmt::format("  energy distance {:.3g}\n",
                          energy_distance(x.to(at::kDouble), y.points, weights(state).to(at::kCPU, at::kDouble), y.weights));
  }
  if (!diverged) text += fmt::format("  {}: {}\n", verdict.word, verdict.text);
  if (ending.picture) text += fmt::format("\n{}", scatter(x, target.names(), ending.columns));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  text += fmt::format("  {} in {} ({:.3g} steps/s), tau {:.4g}, peak memory {}\n  sums: {}\n", counted(ending.steps, "step"),
                      duration_text(ending.seconds), static_cast<double>(ending.steps) / ending.seconds, simulation.tau(),
                      bytes_text(1024.0 * static_cast<double>(usage.ru_maxrss)), ending.sums);
  const std::string folder = shell_quoted(ending.directory.string());
  text += fmt::format("\nresult   {}\nlook     gaussflow inspect {}\n", shell_quoted(ending.samples.string()), folder);
  if (!diverged)
    text += fmt::format("more     gaussflow resume {} --extend-by {}\n", folder,
                        std::max<std::int64_t>(1, config.step.count / 2));
  return text;
}

}  // namespace gaussflow::run
