#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"
#include "gaussflow/kernel/reweight.hpp"

#include "kernel/autograd.hpp"
#include "kernel/contract.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <functional>

using namespace gaussflow;
using torch::autograd::grad;

namespace {

const std::vector<Reduction> reductions{Reduction::automatic, Reduction::reference, Reduction::reweight, Reduction::prescale,
                                        Reduction::logit};

Tensor draw(std::vector<std::int64_t> shape, std::uint64_t step) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return normal({21, Stream::data, step}, rows, shape.back()).view(shape);
}

struct Inputs {
  Tensor q, k, v, tau;
  std::vector<Tensor> list() const { return {q, k, v, tau}; }
};

Inputs inputs(std::int64_t B, std::int64_t M, std::int64_t N, std::int64_t D, std::int64_t C) {
  const double scale = 1 / std::sqrt(static_cast<double>(D));
  return {(draw({B, M, D}, 1) * scale + 3).requires_grad_(), (draw({B, N, D}, 2) * scale + 3).requires_grad_(),
          draw({B, N, C}, 3).requires_grad_(), at::scalar_tensor(0.8, at::kDouble).requires_grad_()};
}

/// The formula as it stands, by elementary operations alone: the oracle, with its own autograd.
Tensor naive(const Inputs& x) {
  const Tensor difference = x.q.unsqueeze(2) - x.k.unsqueeze(1);
  return at::matmul(at::exp(-0.5 * x.tau * difference.square().sum(3)), x.v);
}

double distance(const Tensor& a, const Tensor& b) { return ((a - b).norm() / (b.norm() + 1e-300)).item<double>(); }

}  // namespace

TEST_CASE("first derivatives of every reduction are those of the formula") {
  for (const Reduction reduction : reductions)
    for (const auto& [D, C] : std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 1}, {2, 3}, {5, 7}, {33, 2}}) {
      CAPTURE(name_of(reduction));
      CAPTURE(D);
      CAPTURE(C);
      const Inputs x = inputs(2, 40, 150, D, C);
      const Tensor w = draw({2, 40, C}, 4);
      const auto expected = grad({naive(x)}, x.list(), {w});
      const auto found = grad({gauss_sum(x.q, x.k, x.v, x.tau, {.reduction = reduction})}, x.list(), {w});
      for (std::size_t i = 0; i < 4; ++i) CHECK(distance(found[i], expected[i]) < 1e-12);
    }
}

TEST_CASE("second derivatives exist for every reduction and are those of the formula") {
  for (const Reduction reduction : reductions)
    for (const std::int64_t C : {1, 3}) {
      CAPTURE(name_of(reduction));
      CAPTURE(C);
      const Inputs x = inputs(1, 12, 20, 2, C);
      const Tensor w = draw({1, 12, C}, 4).requires_grad_();
      const auto second = [&](const Tensor& s) {
        const auto first = grad({s}, x.list(), {w}, true, true);
        Tensor total;
        for (std::size_t i = 0; i < 4; ++i) {
          const Tensor term = (first[i] * (first[i].detach() + 1)).sum();
          total = total.defined() ? total + term : term;
        }
        std::vector<Tensor> all = x.list();
        all.push_back(w);
        return grad({total}, all);
      };
      const auto expected = second(naive(x)), found = second(gauss_sum(x.q, x.k, x.v, x.tau, {.reduction = reduction}));
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(distance(found[i], expected[i]) < 1e-11);
    }
}

TEST_CASE("third derivatives exist") {
  const Inputs x = inputs(1, 4, 5, 2, 1);
  const auto third = [&](const Tensor& s) {
    const Tensor g = grad({s.sum()}, {x.q}, {}, true, true)[0];
    const Tensor h = grad({g.square().sum()}, {x.q}, {}, true, true)[0];
    return grad({h.square().sum()}, {x.q})[0];
  };
  CHECK(distance(third(gauss_sum(x.q, x.k, x.v, x.tau, {})), third(naive(x))) < 1e-11);
}

TEST_CASE("gradients agree with finite differences of the sum itself") {
  const Inputs x = inputs(1, 5, 6, 2, 2);
  const Tensor w = draw({1, 5, 2}, 4);
  const auto value = [&](const std::vector<Tensor>& y) {
    return (gauss_sum(y[0], y[1], y[2], y[3], {}) * w).sum().item<double>();
  };
  const auto found = grad({gauss_sum(x.q, x.k, x.v, x.tau, {})}, x.list(), {w});
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<Tensor> moved = x.list();
    for (Tensor& t : moved) t = t.detach().clone();
    const Tensor entries = moved[i].view(-1), gradient = found[i].reshape(-1);
    for (std::int64_t j = 0; j < entries.numel(); ++j) {
      constexpr double h = 1e-5;
      const double here = entries[j].item<double>();
      entries[j].fill_(here + h);
      const double above = value(moved);
      entries[j].fill_(here - h);
      const double below = value(moved);
      entries[j].fill_(here);
      CHECK((above - below) / (2 * h) == doctest::Approx(gradient[j].item<double>()).epsilon(1e-7));
    }
  }
}

TEST_CASE("eq. 8, autograd through attention and the formula agree") {
  const Inputs x = inputs(1, 60, 300, 4, 1);
  const Tensor expected = grad({naive(x).sum()}, {x.q})[0];
  const ValueAndGradient eq8 = gauss_sum_with_gradient(x.q, x.k, x.v.squeeze(2), {.tau = 0.8});
  CHECK(distance(eq8.gradient.detach(), expected) < 1e-13);
  CHECK(distance(grad({reweight(x.q, x.k, x.v, {.tau = 0.8}).sum().sum()}, {x.q})[0], expected) < 1e-13);
  CHECK(distance(gauss_sum_gradient(x.q, x.k, x.v, {.tau = 0.8}).detach().squeeze(2), expected) < 1e-13);
}

TEST_CASE("the gradient at a key is what the others make of it") {
  for (const auto dtype : {at::kDouble, at::kFloat}) {
    const Tensor q = tensor_from({7.3}, 1, 1).to(dtype), k = tensor_from({7.3, 0.1}, 2, 1).to(dtype);
    const double gap = (k[1] - q[0]).to(at::kDouble).item<double>();
    const double found = gauss_sum_gradient(q, k, at::ones({2, 1}, q.options()), {}).item<double>();
    CHECK(found == doctest::Approx(gap * std::exp(-gap * gap / 2)).epsilon(32 * contract::eps(dtype)));
  }
}

TEST_CASE("gradients of a cloud with far parts keep the contract") {
  for (const auto dtype : {at::kDouble, at::kFloat})
    for (const double far : {30.0, 300.0, 1e4, 1e6, 1e9}) {
      CAPTURE(dtype_name(dtype));
      CAPTURE(far);
      Tensor q = draw({40, 5}, 1), k = draw({60, 5}, 2);
      q.narrow(0, 20, 20) += far;
      k.narrow(0, 30, 30) += far;
      q = q.to(dtype);
      k = k.to(dtype);
      const Tensor v = draw({60, 2}, 3).to(dtype);
      const Tensor gap = k.to(at::kDouble).unsqueeze(0) - q.to(at::kDouble).unsqueeze(1);  // exact: parts are far or near
      const Tensor phi = at::exp(-0.4 * gap.square().sum(2)), v64 = v.to(at::kDouble);
      const Tensor want = at::einsum("mn,nc,mnd->mcd", {phi, v64, gap}) * 0.8;
      const Tensor mass = at::einsum("mn,nc,mnd->mcd", {phi, v64.abs(), gap.abs()}) * 0.8;
      const Tensor error = gauss_sum_gradient(q, k, v, {.tau = 0.8}).to(at::kDouble) - want;
      CHECK((error.norm() / mass.norm()).item<double>() < 32 * contract::eps(dtype));
    }
}

TEST_CASE("autograd through reweight reaches keys and values too, lower halves counted once") {
  for (const auto dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16})
    for (const double spread : {1.0, 6.0}) {  // the wide one splits coordinates in half types
      CAPTURE(dtype_name(dtype));
      CAPTURE(spread);
      const Inputs wide = inputs(1, 30, 50, 2, 2);
      const Inputs x{((wide.q.detach() - 3) * spread).requires_grad_(), ((wide.k.detach() - 3) * spread).requires_grad_(),
                     wide.v, at::scalar_tensor(1.0, at::kDouble)};
      if (spread > 1 && !(dtype == at::kHalf || dtype == at::kBFloat16)) continue;
      const Tensor w = draw({1, 30, 2}, 4);
      const auto expected = grad({naive(x)}, {x.q, x.k, x.v}, {w});
      const auto found = grad({reweight(x.q, x.k, x.v, {.compute_dtype = dtype}).sum()}, {x.q, x.k, x.v}, {w});
      const double tolerance = (dtype == at::kDouble || dtype == at::kFloat ? 16 : 8) * contract::eps(dtype) * spread;
      for (std::size_t i = 0; i < 3; ++i) CHECK(distance(found[i], expected[i]) < tolerance);
    }
}

TEST_CASE("single precision gradients keep single precision") {
  for (const Reduction reduction : reductions)
    for (const std::int64_t C : {1, 5}) {
      CAPTURE(name_of(reduction));
      const Inputs x = inputs(2, 300, 200, 3, C);
      const Tensor w = draw({2, 300, C}, 4);
      const auto expected = grad({naive(x)}, x.list(), {w});
      const auto f = [](const Tensor& t) { return t.detach().to(at::kFloat).requires_grad_(); };
      const Inputs y{f(x.q), f(x.k), f(x.v), f(x.tau)};
      const auto found = grad({gauss_sum(y.q, y.k, y.v, y.tau, {.reduction = reduction})}, y.list(), {w.to(at::kFloat)});
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK((found[i].scalar_type() == at::kFloat));
        CHECK(distance(found[i].to(at::kDouble), expected[i]) < 4e-6);
      }
    }
}

TEST_CASE("att-07: upstream gradients may have any strides") {
  for (const std::int64_t C : {1, 4}) {
    const Inputs x = inputs(1, 30, 40, 3, C);
    const Tensor q = x.q.detach().squeeze(0).requires_grad_(), k = x.k.detach().squeeze(0), v = x.v.detach().squeeze(0);
    const auto s = [&] { return gauss_sum(q, k, v, {.tau = 0.8}); };
    const Tensor gradients = gauss_sum_gradient(q.detach(), k, v, {.tau = 0.8});  // [M, C, D]
    const Tensor w = draw({C, 30}, 4);
    CHECK(distance(grad({s().sum()}, {q})[0], gradients.sum(1)) < 1e-13);
    CHECK(distance(grad({(s().t() * w).sum()}, {q})[0], (gradients * w.t().unsqueeze(2)).sum(1)) < 1e-13);
    CHECK(distance(grad({s().slice(1, 0, C, 2).sum()}, {q})[0], gradients.slice(1, 0, C, 2).sum(1)) < 1e-13);
  }
}

TEST_CASE("ker-16: the gradient at coincident points is finite and that of the formula") {
  const Tensor x = tensor_from({0, 0, 0, 0, 1, 0, 0, 2}, 4, 2), v = at::ones({4, 1}, at::kDouble);
  const auto expected = oracle::gradient(x, x, v, 1);
  const ValueAndGradient f = gauss_sum_with_gradient(x, x, v.squeeze(1), {});
  CHECK((oracle::matrix(f.gradient) - expected).norm() < 1e-15);
  const Tensor q = x.clone().requires_grad_();
  CHECK((oracle::matrix(grad({gauss_sum(q, x, v, {}).sum()}, {q})[0]) - expected).norm() < 1e-15);
  const Tensor same = x.clone().requires_grad_();  // q and k one tensor: both roles count
  CHECK((oracle::matrix(grad({gauss_sum(same, same, v, {}).sum()}, {same})[0]) - 2 * expected).norm() < 1e-15);
}

TEST_CASE("att-05: autograd through reweight stays finite where the sum underflows") {
  const Tensor q = (draw({64, 62}, 1) * .1 + 3).to(at::kFloat).requires_grad_(),
               k = (draw({703, 62}, 2) * .1 - 3).to(at::kFloat);
  const Tensor v = draw({703, 1}, 3).to(at::kFloat);
  for (const auto dtype : {at::kHalf, at::kBFloat16}) {
    Tensor s;
    try {
      s = reweight(q, k, v, {.compute_dtype = dtype}).sum();
    } catch (const UnsupportedError&) {
      continue;  // refused with the number: the sum is far below what the dtype resolves
    }
    const Tensor g = grad({s.sum()}, {q})[0];
    CHECK(at::isfinite(g).all().item<bool>());
    CHECK(g.abs().max().item<double>() < 1e-30);
  }
  const Tensor g = grad({gauss_sum(q, k, v, {}).sum()}, {q})[0];
  CHECK(g.abs().max().item<double>() == 0);
}

TEST_CASE("first derivatives in fp16 are finite and right over 262144 keys") {
  const std::int64_t N = 262'144;
  const auto half = [](const Tensor& t) { return (t / 2).to(at::kHalf); };
  const Tensor q = half(draw({8, 3}, 1)), k = half(draw({N, 3}, 2)), v = half(draw({N, 1}, 3)), w = draw({8, 1}, 4);
  const Inputs x{q.to(at::kDouble).requires_grad_(), k.to(at::kDouble).requires_grad_(), v.to(at::kDouble).requires_grad_(),
                 at::scalar_tensor(1.0, at::kDouble)};
  // What is summed in each entry, without its signs: rounding is relative to that.
  const auto expected =
      grad({naive({x.q.unsqueeze(0), x.k.unsqueeze(0), x.v.unsqueeze(0), x.tau})}, {x.q, x.k, x.v}, {w.unsqueeze(0)});
  const Tensor gap = x.q.detach().unsqueeze(1) - x.k.detach().unsqueeze(0);
  const Tensor phi = at::exp(-0.5 * gap.square().sum(2)), mass = w.abs().unsqueeze(1) * phi.unsqueeze(2) * gap.abs();
  const std::vector<Tensor> scale{(mass * x.v.detach().abs()).sum(1), mass.sum(0) * x.v.detach().abs(),
                                  at::matmul(phi.t(), w.abs())};
  for (const Reduction reduction : reductions) {
    CAPTURE(name_of(reduction));
    const Tensor a = q.clone().requires_grad_(), b = k.clone().requires_grad_(), c = v.clone().requires_grad_();
    const auto found = grad({gauss_sum(a, b, c, {.reduction = reduction})}, {a, b, c}, {w.to(at::kFloat)});
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(at::isfinite(found[i]).all().item<bool>());
      const Tensor error = found[i].to(at::kDouble) - expected[i];
      CHECK((error.norm() / scale[i].norm()).item<double>() < 4 * contract::eps(at::kHalf));
    }
  }
}

TEST_CASE("att-06: two backward passes give the same bits") {
  for (const std::int64_t C : {1, 4}) {
    const Inputs x = inputs(1, 500, 400, 3, C);
    const auto once = [&] { return grad({gauss_sum(x.q, x.k, x.v, x.tau, {}).square().sum()}, x.list()); };
    const auto a = once(), b = once();
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(at::equal(a[i], b[i]));
  }
}
