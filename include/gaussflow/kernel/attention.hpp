#pragma once
/// The one place that meets LibTorch's attention operators, and all their traps.

#include "gaussflow/kernel/options.hpp"

namespace gaussflow {

/// Softmax attention Att(q,k,v)_m = Σ_n e^{s_mn} v_n / Σ_n e^{s_mn}, lse_m = log Σ_n e^{s_mn}, s_mn = q_m·k_n + bias_n. [Eq.
/// (2)]
struct Attention {
  Tensor out;  ///< [B, M, E], the operands' dtype
  Tensor lse;  ///< [B, M], natural log; fp64 for fp64, else fp32
};

/// The fused backend for a device, dtype and width: `wanted`, or the best one for `automatic`.
/// `bias`: the call will carry a key bias.
/// Throws   UnsupportedError naming backend, device, dtype or width when it cannot.
AttentionBackend attention_backend(AttentionBackend wanted, const at::Device& device, at::ScalarType dtype,
                                   std::int64_t width, bool bias);

/// One attention call with scale 1.
///
/// Shapes   q [B, M, E], k [B, N, E], v [B, N, E], key_bias [B, N] or undefined; all alike in dtype.
/// Range    E as padded_width says; B any (split on CUDA); M = 0 or N = 0 give zeros, lse −inf.
/// Memory   linear, but for the backend `math`, which forms the M × N matrix and is never chosen by itself.
Attention attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& key_bias, AttentionBackend backend);

/// The gradients of ⟨grad, Σ_n e^{s_mn − lse_m} v_n⟩ for a given lse, by the CPU operator's own backward with out := 0; the
/// bias is a constant to it.   Shapes  grad, q [B, M, E], k, v [B, N, E], lse [B, M], key_bias [B, N]; M, N ≥ 1.
struct AttentionGradients {
  Tensor q, k, v;
};
AttentionGradients attention_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& lse, const Tensor& key_bias);

/// Attention by the public interface, so that autograd runs through it: out only. Never the O(MN) path unless `math` is
/// asked.
Tensor differentiable_attention(const Tensor& q, const Tensor& k, const Tensor& v, AttentionBackend backend);

/// The width operands are padded to with zeros: a multiple of 8; 16 at least on the CPU, where 8 takes a slower and less
/// accurate path.
std::int64_t padded_width(std::int64_t width, const at::Device& device);

}  // namespace gaussflow
