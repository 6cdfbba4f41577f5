#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/kernel/attention.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

using namespace gaussflow;

namespace {

Tensor draw(std::int64_t B, std::int64_t T, std::int64_t E, std::uint64_t step) {
  return normal({51, Stream::data, step}, B * T, E).view({B, T, E});
}

/// Softmax attention by its definition.
Attention plain(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias) {
  Tensor scores = at::matmul(q, k.transpose(1, 2));
  if (bias.defined()) scores = scores + bias.unsqueeze(1);
  const Tensor weights = scores.exp();
  return {at::matmul(weights, v) / weights.sum(2, true), weights.sum(2).log()};
}

}  // namespace

TEST_CASE("out and lse are the definition's, with and without bias, in batches, for few queries and many keys") {
  for (const auto& [B, M, N] : {std::tuple{1, 5, 7}, {3, 33, 65}, {2, 300, 40}, {2, 7, 9000}, {1, 32, 8192}})
    for (const bool biased : {false, true})
      for (const auto backend : {AttentionBackend::flash, AttentionBackend::math}) {
        const Tensor q = draw(B, M, 16, 0) / 4, k = draw(B, N, 16, 1), v = draw(B, N, 16, 2);
        const Tensor bias = biased ? -draw(B, N, 1, 3).squeeze(2).abs() : Tensor();
        const Attention found = attention(q, k, v, bias, backend), expected = plain(q, k, v, bias);
        CHECK(at::allclose(found.out, expected.out, 1e-12, 1e-13));
        CHECK(at::allclose(found.lse, expected.lse, 1e-12, 1e-13));
        CHECK(found.lse.is_contiguous());
      }
}

TEST_CASE("att-03: lse is the natural logarithm over exactly the keys there are") {
  for (const std::int64_t M : {5, 33}) {
    const Tensor q = draw(1, M, 16, 0), k = draw(1, 1, 16, 1), v = draw(1, 1, 16, 2);
    const Tensor one = attention(q, k, v, {}, AttentionBackend::flash).lse;
    CHECK(at::allclose(one, at::matmul(q, k.transpose(1, 2)).squeeze(2), 1e-13, 1e-13));
    const Tensor two = attention(q, k.repeat({1, 2, 1}), v.repeat({1, 2, 1}), {}, AttentionBackend::flash).lse;
    CHECK(at::allclose(two, one + std::log(2.0), 1e-13, 1e-13));
  }
}

TEST_CASE("operands with strange strides are read right") {
  const Tensor q = draw(2, 16, 20, 0).transpose(1, 2), k = draw(2, 16, 30, 1).transpose(1, 2),
               v = draw(2, 32, 30, 2).transpose(1, 2).slice(2, 0, 32, 2);
  const Attention found = attention(q, k, v, {}, AttentionBackend::flash), expected = plain(q, k, v, {});
  CHECK(at::allclose(found.out, expected.out, 1e-12, 1e-13));
}

TEST_CASE("no query, no key or no problem ends in zeros, not in a signal") {
  const auto sizes = [](std::int64_t B, std::int64_t M, std::int64_t N) {
    return attention(draw(B, M, 16, 0), draw(B, N, 16, 1), draw(B, N, 16, 2), {}, AttentionBackend::flash);
  };
  CHECK(sizes(2, 0, 5).out.numel() == 0);
  CHECK(sizes(0, 3, 5).out.numel() == 0);
  const Attention none = sizes(2, 3, 0);
  CHECK(at::equal(none.out, at::zeros({2, 3, 16}, at::kDouble)));
  CHECK(at::equal(none.lse.exp(), at::zeros({2, 3}, at::kDouble)));
}

TEST_CASE("the operator's backward, given the lse of a Gauss sum, differentiates the Gauss sum") {
  for (const std::int64_t M : {3, 130, 1100}) {
    const Tensor q = draw(2, M, 16, 0) / 4, k = draw(2, 70, 16, 1) / 4, v = draw(2, 70, 16, 2), w = draw(2, M, 16, 3);
    const Tensor lse = 0.5 * q.square().sum(2), bias = -0.5 * k.square().sum(2);
    const Tensor phi = (-0.5 * at::cdist(q, k, 2.0, 2).square()).exp(), weights = phi * at::matmul(w, v.transpose(1, 2));
    const AttentionGradients g = attention_backward(w, q, k, v, lse, bias);
    CHECK(at::allclose(g.q, at::matmul(weights, k), 1e-11, 1e-12));
    CHECK(at::allclose(g.k, at::matmul(weights.transpose(1, 2), q), 1e-11, 1e-12));
    CHECK(at::allclose(g.v, at::matmul(phi.transpose(1, 2), w), 1e-11, 1e-12));
  }
}

TEST_CASE("att-04: long sequences keep all their rows") {
  for (const std::int64_t n : {65536, 65537}) {
    const Tensor x = at::full({n, 1}, 0.5), one = at::ones({n, 1});
    const Tensor s = gauss_sum(x.slice(0, n - 3), x, one, {.reduction = Reduction::reweight});
    const Tensor t = gauss_sum(x, x.slice(0, n - 3), one.slice(0, n - 3), {.reduction = Reduction::logit});
    CHECK((s - static_cast<double>(n)).abs().max().item<double>() < 1e-6 * static_cast<double>(n));
    CHECK((t - 3).abs().max().item<double>() < 1e-5);
  }
}

TEST_CASE("a large batch equals its single problems") {
  const Tensor x = draw(1, 4, 8, 0).expand({65536, 4, 8}).to(at::kFloat),
               v = draw(1, 4, 1, 1).expand({65536, 4, 1}).to(at::kFloat);
  for (const Reduction reduction : {Reduction::automatic, Reduction::reweight}) {
    const Tensor s = gauss_sum(x, x, v, {.tau = .1, .reduction = reduction});
    const Tensor one = gauss_sum(x[0], x[0], v[0], {.tau = .1, .reduction = reduction});
    CHECK(at::allclose(s[0], one, 1e-6, 1e-7));
    CHECK(at::allclose(s[65535], one, 1e-6, 1e-7));
  }
}

TEST_CASE("att-08: a backend that cannot run is refused by name, dtype and width, whatever machine this is") {
  const at::Device gpu(at::kCUDA, 0), cpu(at::kCPU);
  using enum AttentionBackend;
  const auto chosen = [](AttentionBackend wanted, const at::Device& device, at::ScalarType dtype, std::int64_t width,
                         bool bias = false) { return attention_backend(wanted, device, dtype, width, bias); };
  CHECK_THROWS_WITH_AS(chosen(flash, gpu, at::kHalf, 304),
                       "backend flash cannot take fp16 of width 304 on cuda:0: the widest is 256; reduction reference does",
                       UnsupportedError);
  CHECK_THROWS_WITH_AS(
      chosen(flash, gpu, at::kFloat, 16),
      "backend flash cannot take fp32 of width 16 on cuda:0: it takes fp16 and bf16; memory_efficient takes fp32",
      UnsupportedError);
  CHECK_THROWS_AS(chosen(cudnn, gpu, at::kFloat, 16), UnsupportedError);
  CHECK_THROWS_AS(chosen(memory_efficient, gpu, at::kDouble, 16), UnsupportedError);
  CHECK_THROWS_AS(chosen(cudnn, cpu, at::kFloat, 16), UnsupportedError);
  CHECK(chosen(automatic, gpu, at::kHalf, 16) == flash);
  CHECK(chosen(automatic, gpu, at::kFloat, 16, true) == memory_efficient);
  CHECK(chosen(automatic, cpu, at::kDouble, 600) == flash);
  CHECK(chosen(math, gpu, at::kDouble, 16) == math);
  const Tensor x = draw(1, 5, 2, 0)[0];
  CHECK_THROWS_AS(gauss_sum(x, x, x, {.tau = .1, .reduction = Reduction::reweight, .backend = cudnn}), UnsupportedError);
}

TEST_CASE("widths are multiples of 8, and 16 at least on the CPU") {
  CHECK(padded_width(1, at::kCPU) == 16);
  CHECK(padded_width(17, at::kCPU) == 24);
  CHECK(padded_width(1, at::kCUDA) == 8);
  CHECK(padded_width(256, at::kCUDA) == 256);
}
