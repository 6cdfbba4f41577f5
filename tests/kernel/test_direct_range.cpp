// The accuracy contract over everything that scales, offsets and values can be: problems drawn at random, 32 eps for each.

#include "gaussflow/kernel/direct.hpp"

#include "kernel/direct_oracle.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace gaussflow {
namespace {

using oracle::cloud;

/// Numbers of one problem, each a pure function of its seed.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : numbers_(to_vector(uniform({seed, Stream::subsample, 0}, 1, 16))) {}
  double between(double low, double high) { return low + (high - low) * numbers_[next_++]; }
  std::int64_t one_of(const std::vector<std::int64_t>& choices) {
    return choices[static_cast<std::size_t>(between(0, static_cast<double>(choices.size())))];
  }

 private:
  std::vector<double> numbers_;
  std::size_t next_ = 0;
};

struct Drawing {
  Tensor q, k, v;
  std::string text;
};

Drawing draw(std::uint64_t seed, at::ScalarType dtype) {
  Drawn drawn(seed);
  const std::int64_t D = drawn.one_of({1, 2, 3, 4, 5, 8, 20, 70}), M = drawn.one_of({1, 2, 5, 30}),
                     N = drawn.one_of({1, 2, 7, 60});
  const double spread = std::pow(10, drawn.between(-2, 3)) / std::sqrt(static_cast<double>(D));  // of q and k, τ = 1
  const double apart = drawn.between(0, 2) < 1 ? 0 : std::pow(10, drawn.between(-1, 1.7));       // of the clouds' centres
  const double offset = drawn.between(0, 2) < 1 ? 0 : std::pow(10, drawn.between(0, 5));
  const double decades = drawn.between(0, 2) < 1 ? 0 : 16;
  Tensor q = cloud(3 * seed, M, D, at::kDouble, spread), k = cloud(3 * seed + 1, N, D, at::kDouble, spread);
  q.select(1, 0) += apart;
  const Tensor exponents = uniform({3 * seed + 2, Stream::perturbation, 0}, N, 1) * decades - decades / 2;
  const Tensor v = cloud(3 * seed + 2, N, 2, at::kDouble) * at::pow(10, exponents);
  return {(q + offset).to(dtype), (k + offset).to(dtype), v.to(dtype),
          "seed " + std::to_string(seed) + ": D " + std::to_string(D) + ", M " + std::to_string(M) + ", N " +
              std::to_string(N) + ", spread " + std::to_string(spread) + ", apart " + std::to_string(apart) + ", offset " +
              std::to_string(offset)};
}

/// Sums that vanish in the type have no relative error: Φ ends at 2⁻¹²⁶ (2⁻¹⁰²²) of the values.
bool in_range(const oracle::Sums& want, const Tensor& v, at::ScalarType dtype) {
  double largest = 0;
  for (const double a : want.absolute) largest = std::max(largest, a);
  return largest > v.abs().max().item<double>() * (dtype == at::kFloat ? 0x1p-115 : 0x1p-1010);
}

TEST_CASE("random problems of any scale, offset and distance keep the contract") {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
      const Drawing p = draw(seed, dtype);
      const auto want = oracle::sums(p.q, p.k, p.v, oracle::gaussian(1.0));
      if (!in_range(want, p.v, dtype)) continue;
      CAPTURE(p.text);
      CHECK(oracle::contract_error(direct_gauss_sum(p.q, p.k, p.v, 1.0), want) < 32 * oracle::eps(dtype));
    }
  }
}

}  // namespace
}  // namespace gaussflow
