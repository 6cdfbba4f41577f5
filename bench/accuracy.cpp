/// Prints the measured tables of docs/accuracy.md.

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/machine_eps.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/reference.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

using namespace gaussflow;

namespace {

constexpr std::int64_t points = 2048;

struct Problem {
  Tensor q, k, v, s, s_abs;
};

/// Of numbers that fp32 holds.
Problem problem(const Tensor& q64, const Tensor& k64, const Tensor& v64) {
  const auto held = [](const Tensor& t) { return t.to(at::kFloat).to(at::kDouble); };
  const Tensor q = held(q64), k = held(k64), v = held(v64);
  const auto exact = [&](const Tensor& values) {
    return reference_sum(q.unsqueeze(0), k.unsqueeze(0), values.unsqueeze(0), 1, ReferenceAccuracy::fp64)[0];
  };
  return {q, k, v, exact(v), exact(v.abs())};
}

/// Keys on a sphere of radius R, each query near a key: the exponents that matter are small, the norms are not.
Problem sphere(std::int64_t D, double R, std::uint64_t seed) {
  const Tensor z = normal({seed, Stream::data, 0}, points, D), k = z / z.norm(2, {1}, true) * R;
  const Tensor q = k + normal({seed, Stream::data, 1}, points, D) * (0.5 / std::sqrt(static_cast<double>(D)));
  return problem(q, k, normal({seed, Stream::data, 2}, points, 2));
}

/// Error of the worst column in eps of the contract's measure, or relative to ‖s‖; "–" where the reduction refuses.
std::string error(const Problem& p, Reduction reduction, at::ScalarType dtype, bool relative) {
  try {
    const auto stored = [dtype](const Tensor& t) { return dtype == at::kDouble ? t : t.to(at::kFloat); };
    const Tensor s =
        gauss_sum(stored(p.q), stored(p.k), stored(p.v), {.reduction = reduction, .compute_dtype = dtype}).to(at::kDouble);
    if (relative) return fmt::format("{:.1e}", ((s - p.s).norm() / p.s.norm()).item<double>());
    return fmt::format("{:.2f}", ((s - p.s).norm(2, {0}) / p.s_abs.norm(2, {0})).max().item<double>() / machine_eps(dtype));
  } catch (const UnsupportedError&) {
    return "–";
  }
}

void table(const char* title, const std::vector<std::pair<std::string, Problem>>& problems, bool relative = false) {
  fmt::print("\n{}\n\n| reduction | dtype |", title);
  for (const auto& [name, p] : problems) fmt::print(" {} |", name);
  fmt::print("\n|---|---|");
  for (std::size_t i = 0; i < problems.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const Reduction reduction : {Reduction::automatic, Reduction::direct, Reduction::reference, Reduction::reweight,
                                    Reduction::prescale, Reduction::logit})
    for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
      if (dtype != at::kDouble && dtype != at::kFloat &&
          (reduction == Reduction::automatic || reduction == Reduction::direct || reduction == Reduction::reference))
        continue;
      fmt::print("| {} | {} |", name_of(reduction), dtype_name(dtype));
      for (const auto& [name, p] : problems) fmt::print(" {} |", error(p, reduction, dtype, relative));
      fmt::print("\n");
      std::fflush(stdout);
    }
}

}  // namespace

int main() {
  std::vector<std::pair<std::string, Problem>> paper;
  for (const std::int64_t D : {1, 3, 10, 32, 128}) {
    const double scale = 1 / std::sqrt(static_cast<double>(D));
    const Tensor x = normal({1, Stream::data, 0}, points, D) * scale, y = normal({1, Stream::data, 1}, points, D) * scale;
    paper.emplace_back(fmt::format("D {}", D), problem(x, y, normal({1, Stream::data, 2}, points, 2)));
  }
  table("Standard normal clouds times D^-½, τ = 1 (the paper's setting), N = M = 2048: eps", paper);
  table("The same relative to the 2-norm of s", paper, true);
  for (const std::int64_t D : {3, 32}) {
    std::vector<std::pair<std::string, Problem>> spheres;
    for (const double R : {1.0, 2.0, 3.0, 10.0, 30.0, 300.0})
      spheres.emplace_back(fmt::format("R {:g}", R), sphere(D, R, 1));
    table(fmt::format("Queries near keys on a sphere of radius R, D = {}, τ = 1: eps", D).c_str(), spheres);
  }
}
