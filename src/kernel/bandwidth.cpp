#include "gaussflow/kernel/bandwidth.hpp"

#include "gaussflow/core/error.hpp"

#include "kernel/names.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace gaussflow {

namespace {

/// The squared distances of all pairs i<j, one call per pair, always in the same arithmetic.
class Pairs {
 public:
  explicit Pairs(const Tensor& x) : points_(x.detach().to(at::kCPU, at::kDouble).contiguous()) {
    if (x.dim() != 2) throw ShapeError(fmt::format("a cloud must be [n, D], got {}", shape_text(x)));
  }

  std::int64_t count() const { return n() * (n() - 1) / 2; }
  std::int64_t n() const { return points_.size(0); }

  template <class Visit>
  void for_each(const Visit& visit) const {
    const std::int64_t D = points_.size(1);
    const double* x = points_.const_data_ptr<double>();
    for (std::int64_t i = 0; i < n(); ++i)
      for (std::int64_t j = i + 1; j < n(); ++j) {
        double sum = 0;
        for (std::int64_t d = 0; d < D; ++d) sum += (x[i * D + d] - x[j * D + d]) * (x[i * D + d] - x[j * D + d]);
        visit(sum);
      }
  }

  /// The pair of rank `rank` (0 the smallest).
  double ranked(std::int64_t rank) const {
    constexpr std::int64_t in_memory = 4096;  // points: 67 MB of pairs
    return n() <= in_memory ? by_selection(rank) : by_digits(rank);
  }

 private:
  double by_selection(std::int64_t rank) const {
    if (squares_.empty()) {
      squares_.reserve(count());
      for_each([&](double square) { squares_.push_back(square); });
    }
    std::nth_element(squares_.begin(), squares_.begin() + rank, squares_.end());
    return squares_[rank];
  }

  /// Without storing the pairs: non-negative doubles sort like their bits, so four passes fix 16 bits each.
  double by_digits(std::int64_t rank) const {
    std::uint64_t prefix = 0;
    for (int shift = 48; shift >= 0; shift -= 16) {
      std::vector<std::int64_t> histogram(1 << 16);
      for_each([&](double square) {
        const auto bits = std::bit_cast<std::uint64_t>(square);
        if (shift == 48 || bits >> (shift + 16) == prefix) ++histogram[(bits >> shift) & 0xffff];
      });
      std::uint64_t digit = 0;
      while (rank >= histogram[digit]) rank -= histogram[digit++];
      prefix = prefix << 16 | digit;
    }
    return std::bit_cast<double>(prefix);
  }

  Tensor points_;
  mutable std::vector<double> squares_;
};

/// Mean of the two middle ones of `count` numbers in order, the r-th given by at(r).
template <class At>
double middle(std::int64_t count, const At& at) {
  const double low = at((count - 1) / 2);
  return count % 2 == 1 ? low : 0.5 * (low + at(count / 2));
}

}  // namespace

const std::vector<std::pair<std::string, BandwidthRule>>& bandwidth_rule_names() {
  static const std::vector<std::pair<std::string, BandwidthRule>> names{{"median", BandwidthRule::median},
                                                                        {"liu-wang", BandwidthRule::liu_wang},
                                                                        {"liu-wang-n1", BandwidthRule::liu_wang_n1},
                                                                        {"lw-code", BandwidthRule::lw_code}};
  return names;
}

double median_squared_distance(const Tensor& x) {
  const Pairs pairs(x);
  if (pairs.n() < 2) throw ShapeError(fmt::format("a median of pair distances needs two points, got {}", shape_text(x)));
  return middle(pairs.count(), [&](std::int64_t rank) { return pairs.ranked(rank); });
}

std::optional<double> bandwidth_tau(BandwidthRule rule, const Tensor& x, const Draw& draw, std::int64_t limit) {
  const std::int64_t n = x.size(0);
  if (n < 2) return std::nullopt;
  const std::vector<std::int64_t> chosen = subsample(draw, n, limit);
  const bool all = static_cast<std::int64_t>(chosen.size()) == n;
  const Pairs pairs(all ? x : x.index_select(0, at::tensor(chosen, at::kLong).to(x.device())));
  if (pairs.n() < 2) return std::nullopt;
  const auto squared = [&](std::int64_t rank) { return pairs.ranked(rank); };
  const double logarithm = std::log(static_cast<double>(n) + (rule == BandwidthRule::liu_wang ? 0 : 1));
  double tau = 0;
  switch (rule) {
    case BandwidthRule::median:
      tau = 1 / middle(pairs.count(), squared);
      break;
    case BandwidthRule::liu_wang_n1:
      tau = 2 * logarithm / middle(pairs.count(), squared);
      break;
    case BandwidthRule::liu_wang: {
      const double median = middle(pairs.count(), [&](std::int64_t rank) { return std::sqrt(squared(rank)); });
      tau = 2 * logarithm / (median * median);
      break;
    }
    case BandwidthRule::lw_code: {
      // all n² entries: the n zeros of the diagonal come first, then each pair twice
      const double median = middle(pairs.n() * pairs.n(), [&](std::int64_t rank) {
        return rank < pairs.n() ? 0.0 : squared((rank - pairs.n()) / 2);
      });
      tau = logarithm / (0.5 * median);
      break;
    }
  }
  return std::isfinite(tau) && tau > 0 ? std::optional(tau) : std::nullopt;
}

}  // namespace gaussflow
