#pragma once
/// Bandwidth rules by name; every library writes the kernel differently, ours is exp(-τ/2 r²) (docs/bandwidth.md).

#include "gaussflow/core/random.hpp"
#include "gaussflow/core/tensor.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow {

enum class BandwidthRule {
  median,       ///< 1/median(r²), pairs i<j: σ is the median distance (Gretton et al. 2012)
  liu_wang,     ///< 2 ln(n)/median(r)² (Liu & Wang 2016)
  liu_wang_n1,  ///< 2 ln(n+1)/median(r²)
  lw_code,      ///< ln(n+1)/(0.5 median(r² over all n² entries, zero diagonal included)) (their program)
};
const std::vector<std::pair<std::string, BandwidthRule>>& bandwidth_rule_names();

/// Exact pair median of squared distances over i<j: the mean of the two middle values. n [n, D], n ≥ 2.
double median_squared_distance(const Tensor& x);

/// τ of a cloud by a rule, on at most `limit` points chosen by hash(draw, index); empty when the rule has no answer
/// (n = 1, or all points equal).
std::optional<double> bandwidth_tau(BandwidthRule rule, const Tensor& x, const Draw& draw, std::int64_t limit = 1500);

}  // namespace gaussflow
