/// att-01: memory is linear in the points, whatever the reduction. In a process of its own: a peak cannot be taken back.

#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/kernel.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cstdlib>

using namespace gaussflow;

namespace {

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

TEST_CASE("a sum over 60000 points takes less than 300 MB, and equal points give their number") {
  const std::int64_t n = 60000;
  const Tensor x = at::full({n, 2}, 0.25), v = at::ones({n, 3});
  gauss_sum(x.slice(0, 0, 100), x, v, {});  // threads, tables
  const double before = peak_megabytes();
  const Tensor s = gauss_sum(x, x, v, {});
  CHECK(peak_megabytes() - before < 300);
  CHECK((s - static_cast<double>(n)).abs().max().item<double>() < 4e-6 * static_cast<double>(n));
}

TEST_CASE("no reduction, gradient or energy forms the matrix of all pairs") {
  // The matrix has 2.5 GB (fp32) at the full size and 400 MB at the default one.
  const bool whole = std::getenv("GAUSSFLOW_NIGHTLY") != nullptr;
  const std::int64_t n = whole ? 25000 : 10000;
  const double limit = whole ? 300 : 100;
  const Tensor x = normal({81, Stream::data, 0}, n, 2).to(at::kFloat) / 2,
               v = normal({81, Stream::data, 1}, n, 3).to(at::kFloat);
  for (const Reduction reduction : {Reduction::automatic, Reduction::direct, Reduction::reference, Reduction::reweight,
                                    Reduction::prescale, Reduction::logit}) {
    CAPTURE(name_of(reduction));
    const GaussSumOptions options{.tau = .5, .reduction = reduction};
    gauss_sum(x.slice(0, 0, 300), x.slice(0, 0, 300), v.slice(0, 0, 300), options);
    const double before = peak_megabytes();
    CHECK(at::isfinite(gauss_sum(x, x, v, options)).all().item<bool>());
    CHECK(peak_megabytes() - before < limit);
  }
  const double before = peak_megabytes();
  Kernel({.tau = .5}).field(x, x, v.select(1, 0), Gradient::autograd);
  const Tensor q = x.clone().requires_grad_();
  gauss_sum(q, x, v, {.tau = .5}).sum().backward();
  CHECK(peak_megabytes() - before < limit);
}
