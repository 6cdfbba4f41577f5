#include "gaussflow/core/error.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;

namespace {

const std::vector<Reduction> reductions{Reduction::automatic, Reduction::reference, Reduction::reweight, Reduction::prescale,
                                        Reduction::logit};

Tensor column(const std::vector<double>& values) { return tensor_from(values, static_cast<std::int64_t>(values.size()), 1); }

void check_close(const Tensor& value, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> numbers = to_vector(value);
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) CHECK(numbers[i] == doctest::Approx(expected[i]).epsilon(tolerance));
}

}  // namespace

TEST_CASE("two queries and three keys give the sums and gradients worked out by hand") {
  const Tensor q = column({0, 1}), k = column({0, 1, 2}), v = column({1, -2, 3});
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    check_close(gauss_sum(q, k, v, {.reduction = reduction}), {0.192944530285, 0.426122638851}, 1e-11);
    const ValueAndGradient f = gauss_sum_with_gradient(q, k, v.squeeze(1), {.reduction = reduction});
    check_close(f.value, {0.192944530285, 0.426122638851}, 1e-11);
    check_close(f.gradient, {-0.401049620006, 1.21306131943}, 1e-11);
  }
}

TEST_CASE("a plane problem with two channels gives the sums, gradients and densities worked out by hand") {
  const Tensor q = tensor_from({0, 0, 1, 0, 0, 2}, 3, 2), k = tensor_from({0, 0, 1, 1, 2, 0, -1, 1}, 4, 2);
  const Tensor v = tensor_from({1, 2, -1, 0, 2, 1, .5, -3}, 4, 2);
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .5, .reduction = reduction};
    check_close(gauss_sum(q, k, v, options),
                {1.43249355249, 0.548287462034, 1.70085396457, 1.47688795863, 0.335284677788, -0.948497813558}, 1e-11);
    check_close(gauss_sum_gradient(q, k, v, options).select(1, 0),
                {0.280860887558, -0.151632664928, 0.246147993106, -0.317774192321, -0.184227428311, -0.486917342717}, 1e-10);
    check_close(gauss_sum(q, k, at::ones({4, 1}, at::kDouble), options).log(),
                {0.94815396836, 0.964283300363, 0.540156852833}, 1e-11);
  }
}
