#include "gaussflow/kernel/attention.hpp"

#include "gaussflow/core/error.hpp"

#include "kernel/operands.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace gaussflow {

namespace {

constexpr std::int64_t grid_limit = 65535;  // CUDA grids hold no more problems than this
constexpr std::int64_t cuda_width = 256, cudnn_width = 128;

/// Operators want [B, H, T, E] with a dense last axis: a strided one is read as garbage without a word on the CPU.
Tensor four(const Tensor& t) { return t.unsqueeze(1).contiguous(); }

/// Key bias as [B, 1, M, N] with stride 0 over the queries.
std::optional<Tensor> expanded(const Tensor& key_bias, std::int64_t M) {
  if (!key_bias.defined()) return std::nullopt;
  const std::int64_t B = key_bias.size(0), N = key_bias.size(1);
  return key_bias.contiguous().view({B, 1, 1, N}).expand({B, 1, M, N});
}

/// The CUDA kernels check the alignment of the bias's rows: storage is padded to a multiple of 8 and sliced.
Tensor aligned(const Tensor& key_bias) {
  const std::int64_t N = key_bias.size(1), padded = (N + 7) / 8 * 8;
  return at::constant_pad_nd(key_bias, {0, padded - N}).slice(1, 0, N);
}

/// The O(MN) path, for whoever asks for it by name.
Attention by_matrix(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_bias) {
  const auto wide = [](const Tensor& t) { return is_half(t.scalar_type()) ? t.to(at::kFloat) : t; };
  Tensor scores = at::matmul(wide(q), wide(k).transpose(-1, -2));
  if (key_bias.defined()) scores = scores + key_bias.unsqueeze(-2);
  const Tensor lse = at::logsumexp(scores, {-1});
  return {at::matmul(at::exp(scores - lse.unsqueeze(-1)), wide(v)).to(q.scalar_type()), lse};
}

/// One raw call on [B, H, T, E]; lse comes back [B, H, M] and dense.
Attention raw(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_bias, AttentionBackend backend) {
  const std::int64_t B = q.size(0), H = q.size(1), M = q.size(2);
  Tensor out, lse;
  if (q.is_cpu()) {
    std::optional<Tensor> mask;  // [B, H, 1, N]; an fp64 query with an fp32 mask is silently wrong
    if (key_bias.defined())
      mask = key_bias.to(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat).view({B, H, 1, -1});
    std::tie(out, lse) = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, false, mask, 1.0);
  } else if (backend == AttentionBackend::flash) {
    auto result = at::_scaled_dot_product_flash_attention(q, k, v, 0.0, false, false, 1.0);
    out = std::get<0>(result);
    lse = std::get<1>(result);
  } else if (backend == AttentionBackend::cudnn) {
    const Tensor bias = key_bias.defined() ? aligned(key_bias.to(q.scalar_type())) : Tensor();
    auto result = at::_scaled_dot_product_cudnn_attention(q, k, v, expanded(bias, M), true, 0.0, false, false, 1.0);
    out = std::get<0>(result);
    lse = std::get<1>(result);
  } else {
    const Tensor bias = key_bias.defined() ? aligned(key_bias.to(q.scalar_type())) : Tensor();
    auto result = at::_scaled_dot_product_efficient_attention(q, k, v, expanded(bias, M), true, 0.0, false, 1.0);
    out = std::get<0>(result);
    lse = std::get<1>(result);
  }
  // memory_efficient pads lse to a multiple of 32, older cuDNN adds an axis, the CPU's is not contiguous for a batch.
  if (lse.dim() == 4) lse = lse.squeeze(-1);
  return {out, lse.slice(2, 0, M).contiguous().view({B, H, M})};
}

/// Few queries and many keys are one task for the CPU: pieces of the keys become heads, which are merged by their lse.
/// The pieces do not depend on the number of threads.
constexpr std::int64_t few_queries = 32, piece = 4096;

Attention by_pieces(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_bias, AttentionBackend backend) {
  const std::int64_t B = q.size(0), M = q.size(1), N = k.size(1), E = q.size(2), H = N / piece, rest = N - H * piece;
  const auto heads = [&](const Tensor& t) { return t.narrow(1, 0, H * piece).contiguous().view({B, H, piece, E}); };
  const Tensor bias = key_bias.defined() ? key_bias.narrow(1, 0, H * piece).contiguous().view({B, H, piece}) : Tensor();
  Attention part = raw(q.unsqueeze(1).expand({B, H, M, E}), heads(k), heads(v), bias, backend);
  if (rest > 0) {
    const auto last = [&](const Tensor& t) { return t.narrow(1, H * piece, rest); };
    const Attention tail =
        raw(four(q), four(last(k)), four(last(v)), key_bias.defined() ? last(key_bias).contiguous() : Tensor(), backend);
    part = {at::cat({part.out, tail.out}, 1), at::cat({part.lse, tail.lse}, 1)};
  }
  const Tensor lse = at::logsumexp(part.lse, {1}, true);
  const Tensor weight = at::exp(part.lse - lse).unsqueeze(-1);
  return {(part.out.to(lse.scalar_type()) * weight).sum(1).to(q.scalar_type()), lse.squeeze(1)};
}

[[noreturn]] void refuse(AttentionBackend backend, const at::Device& device, at::ScalarType dtype, std::int64_t width,
                         const std::string& takes) {
  throw UnsupportedError(fmt::format("backend {} cannot take {} of width {} on {}: {}", name_of(backend), dtype_name(dtype),
                                     width, device.str(), takes));
}

}  // namespace

std::int64_t padded_width(std::int64_t width, const at::Device& device) {
  const std::int64_t padded = (width + 7) / 8 * 8;
  return device.is_cpu() ? std::max<std::int64_t>(padded, 16) : padded;
}

AttentionBackend attention_backend(AttentionBackend wanted, const at::Device& device, at::ScalarType dtype,
                                   std::int64_t width, bool bias) {
  using enum AttentionBackend;
  if (wanted == math) return math;
  if (device.is_cpu()) {
    if (wanted == automatic || wanted == flash) return flash;
    refuse(wanted, device, dtype, width, "it needs a CUDA device; here flash does");
  }
  if (wanted == automatic) wanted = is_half(dtype) && !bias ? flash : memory_efficient;
  if (dtype == at::kDouble) refuse(wanted, device, dtype, width, "no fused backend takes fp64; reduction reference does");
  const std::int64_t widest = wanted == cudnn ? cudnn_width : cuda_width;
  if (width > widest)
    refuse(wanted, device, dtype, width, fmt::format("the widest is {}; reduction reference does", widest));
  if (wanted != memory_efficient && !is_half(dtype))
    refuse(wanted, device, dtype, width, "it takes fp16 and bf16; memory_efficient takes fp32");
  if (wanted == flash && bias) refuse(wanted, device, dtype, width, "it takes no key bias");
  return wanted;
}

Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_bias, AttentionBackend backend) {
  const std::int64_t B = q.size(0), M = q.size(1), N = k.size(1);
  if (B == 0 || M == 0 || N == 0) {  // the CPU operator dies of SIGFPE on these
    const at::ScalarType dtype = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return {at::zeros_like(q), at::full({B, M}, -std::numeric_limits<double>::infinity(), q.options().dtype(dtype))};
  }
  if (backend == AttentionBackend::math) return by_matrix(q, k, v, key_bias);
  if (q.is_cpu() && M <= few_queries && N >= 2 * piece) return by_pieces(q, k, v, key_bias, backend);
  const std::int64_t step = q.is_cpu() ? B : grid_limit;
  std::vector<Tensor> out, lse;
  for (std::int64_t b = 0; b < B; b += step) {
    const std::int64_t count = std::min(step, B - b);
    const auto part = [&](const Tensor& t) { return t.narrow(0, b, count); };
    const Attention result = raw(four(part(q)), four(part(k)), four(part(v)),
                                 key_bias.defined() ? part(key_bias).contiguous() : Tensor(), backend);
    out.push_back(result.out.squeeze(1));
    lse.push_back(result.lse.squeeze(1));
  }
  if (out.size() == 1) return {out[0], lse[0]};
  return {at::cat(out, 0), at::cat(lse, 0)};
}

AttentionGradients attention_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& lse, const Tensor& key_bias) {
  // The operator is parallel over heads only: blocks of queries become heads that share the keys, and each head's share of
  // the key gradients is added in order. Padding queries carry no gradient and, at q = 0 and lse = 0, weights of at most 1.
  const std::int64_t B = q.size(0), M = q.size(1), N = k.size(1), E = q.size(2);
  const std::int64_t H = std::clamp<std::int64_t>(M / 128, 1, 8), rows = (M + H - 1) / H;
  const auto queries = [&](const Tensor& t) {
    return at::constant_pad_nd(t, {0, 0, 0, H * rows - M}).view({B, H, rows, E});
  };
  const auto shared = [&](const Tensor& t) { return t.contiguous().unsqueeze(1).expand({B, H, N, E}); };
  const Tensor q4 = queries(q), grad4 = queries(grad);
  const Tensor lse4 = at::constant_pad_nd(lse, {0, H * rows - M}).view({B, H, rows});
  const Tensor mask = key_bias.to(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat).contiguous().view({B, 1, 1, N});
  auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      grad4, q4, shared(k), shared(v), at::zeros_like(q4), lse4, 0.0, false, mask, 1.0);
  return {gq.reshape({B, H * rows, E}).narrow(1, 0, M), gk.sum(1), gv.sum(1)};
}

Tensor differentiable_attention(const Tensor& q, const Tensor& k, const Tensor& v, AttentionBackend backend) {
  if (backend == AttentionBackend::math) return by_matrix(q, k, v, {}).out;
  if (!q.is_cpu() && q.size(0) > grid_limit) {
    std::vector<Tensor> out;
    for (std::int64_t b = 0; b < q.size(0); b += grid_limit)
      out.push_back(differentiable_attention(q.slice(0, b, b + grid_limit), k.slice(0, b, b + grid_limit),
                                             v.slice(0, b, b + grid_limit), backend));
    return at::cat(out, 0);
  }
  const Tensor q4 = four(q), k4 = four(k), v4 = four(v);
  const auto chosen = static_cast<at::SDPBackend>(at::_fused_sdp_choice(q4, k4, v4, std::nullopt, 0.0, false, 1.0));
  if (chosen == at::SDPBackend::math || chosen == at::SDPBackend::error)
    throw UnsupportedError(
        fmt::format("no fused attention takes {} of width {} on {} under autograd, and the plain one would form "
                    "a {} x {} matrix: use eq. 8 or reduction reference",
                    dtype_name(q.scalar_type()), q.size(2), q.device().str(), q.size(1), k.size(1)));
  return at::scaled_dot_product_attention(q4, k4, v4, std::nullopt, 0.0, false, 1.0).squeeze(1);
}

}  // namespace gaussflow
