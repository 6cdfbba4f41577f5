/// The accuracy contract on random problems of every kind that has broken a sum.

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

using namespace gaussflow;

namespace {

/// Numbers of one problem, in the order they are asked for.
class Dice {
 public:
  explicit Dice(std::uint64_t problem) : numbers_(to_vector(uniform({71, Stream::data, problem}, 64, 1))) {}
  double uniform01() { return numbers_[next_++ % numbers_.size()]; }
  bool chance(double p) { return uniform01() < p; }
  double log_between(double low, double high) { return low * std::pow(high / low, uniform01()); }
  /// 0 … largest, small ones more often.
  std::int64_t size(std::int64_t largest) {
    if (chance(0.02)) return 0;
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::exp(uniform01() * std::log(static_cast<double>(largest) + 1))));
  }

 private:
  std::vector<double> numbers_;
  std::size_t next_ = 0;
};

struct Problem {
  Tensor q, k, v;
  double tau = 1;
  std::string what;
};

/// An [n, d] view that is not what its storage says.
Tensor strided(const Tensor& t, Dice& dice) {
  if (!dice.chance(0.5)) return t;
  return dice.chance(0.5) ? t.t().contiguous().t() : at::repeat_interleave(t, 2, 0).slice(0, 0, 2 * t.size(0), 2);
}

Problem problem(std::uint64_t number) {
  Dice dice(number);
  Problem p;
  const std::int64_t M = dice.size(300), N = dice.size(300), D = std::max<std::int64_t>(1, dice.size(300)),
                     C = dice.size(300);
  const auto draw = [&](std::int64_t n, std::int64_t d, std::uint64_t part) {
    return normal({72 + part, Stream::data, number}, n, d);
  };
  Tensor q = draw(M, D, 0), k = draw(N, D, 1);
  if (dice.chance(0.3) && M > 0 && N > 0) {  // queries at keys: duplicates, or close
    const std::int64_t n = std::min(M, N);
    q = at::cat(
        {k.narrow(0, 0, n) + draw(n, D, 2) * (dice.chance(0.5) ? 0 : dice.log_between(1e-4, 1)), q.narrow(0, n, M - n)}, 0);
  }
  if (dice.chance(0.2)) {  // two clusters, one of each
    q = q * dice.log_between(1e-3, 1) + 2;
    k = k * dice.log_between(1e-3, 1) - 2;
  }
  if (dice.chance(0.2) && N > 0) k.narrow(0, 0, 1).mul_(dice.log_between(10, 1e6));  // an outlier
  if (dice.chance(0.2) && N > 1) k.narrow(0, 1, 1).copy_(k.narrow(0, 0, 1));
  const double scale = dice.log_between(1e-8, 1e8), offset = dice.chance(0.4) ? dice.log_between(1, 1e9) : 0;
  p.q = strided(q * scale + offset, dice);
  p.k = strided(k * scale + offset, dice);
  Tensor v = draw(N, C, 3);
  if (dice.chance(0.4))
    v = v * at::pow(10.0, uniform({76, Stream::data, number}, N, std::max<std::int64_t>(C, 1)).narrow(1, 0, C) * 16 - 8);
  p.v = strided(v, dice);
  p.tau = dice.log_between(1e-6, 1e6) / (scale * scale * static_cast<double>(D));
  p.what = fmt::format("problem {}: M {}, N {}, D {}, C {}, scale {:.2g}, offset {:.2g}, tau {:.3g}", number, M, N, D, C,
                       scale, offset, p.tau);
  return p;
}

struct Tally {
  int held = 0, refused = 0;
  double worst = 0;
};

/// Judges one reduction in one dtype; only named reductions may refuse.
void judge(const Problem& p, const oracle::Sum<long double>& exact, Reduction reduction, at::ScalarType dtype,
           Tally& tally) {
  Tensor s;
  try {
    s = gauss_sum(p.q, p.k, p.v, {.tau = p.tau, .reduction = reduction, .compute_dtype = dtype});
  } catch (const UnsupportedError& error) {
    const bool may = reduction != Reduction::automatic && reduction != Reduction::reference;
    CHECK_MESSAGE(may, p.what, ": ", error.what());
    ++tally.refused;
    return;
  }
  const double bound =
      contract::bound(reduction, dtype, p.q.size(0) + p.k.size(0) == 0 ? 0 : contract::range(p.q, p.k, p.tau));
  const double excess = contract::excess(s, exact, p.v, dtype, bound);
  CHECK_MESSAGE(excess <= 1, p.what, ", ", name_of(reduction), " in ", dtype_name(dtype), ": ", excess, " of the bound");
  ++tally.held;
  tally.worst = std::max(tally.worst, excess);
}

void run(std::uint64_t first, std::uint64_t count, const std::vector<at::ScalarType>& dtypes) {
  std::map<std::string, Tally> tallies;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const Problem p = problem(number);
    const auto exact = oracle::gauss_sum<long double>(p.q, p.k, p.v, p.tau);
    for (const auto dtype : dtypes) {
      for (const Reduction reduction :
           {Reduction::automatic, Reduction::direct, Reduction::reweight, Reduction::prescale, Reduction::logit})
        judge(p, exact, reduction, dtype, tallies[name_of(reduction) + " " + dtype_name(dtype)]);
      if (number % 4 == 0) judge(p, exact, Reduction::reference, dtype, tallies["reference " + dtype_name(dtype)]);
    }
  }
  for (const auto& [name, tally] : tallies)
    MESSAGE(fmt::format("{}: held {}, refused {}, worst {:.3f} of the bound", name, tally.held, tally.refused, tally.worst));
}

std::uint64_t times() { return std::getenv("GAUSSFLOW_NIGHTLY") ? 10 : 1; }

}  // namespace

TEST_CASE("in fp32 and fp64 automatic never refuses and no reduction leaves its bound") {
  run(0, 1800 * times(), {at::kFloat, at::kDouble});
}

TEST_CASE("in half types automatic never refuses and no reduction leaves its bound") {
  run(1'000'000, 200 * times(), {at::kHalf, at::kBFloat16});
}
