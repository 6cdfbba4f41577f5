#pragma once
/// How a Gauss sum is asked for, and what was chosen.

#include "gaussflow/core/tensor.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussflow {

enum class Reduction { automatic, direct, reweight, prescale, logit, reference };
enum class AttentionBackend { automatic, flash, cudnn, memory_efficient, math };

/// How a Gauss sum is evaluated. Aggregate: set the fields you need.
struct GaussSumOptions {
  double tau = 1.0;  ///< precision of Φ_τ(q,k) = exp(-τ/2 ‖q-k‖²); τ = 1/σ². Finite and > 0
  Reduction reduction = Reduction::automatic;
  AttentionBackend backend = AttentionBackend::automatic;
  std::optional<at::ScalarType> compute_dtype;  ///< dtype inside the reduction; empty = v's. Half types return fp32
  std::optional<double> kappa;                  ///< weight of the auxiliary key; empty = √(N+1) rounded to a power of two
  bool center = true;                           ///< subtract the joint mean of q and k, Remark 2
};

/// What evaluates a sum, and why; a pure function of shapes, dtype, device and data range, never of timing.
struct Choice {
  Reduction reduction = Reduction::reference;
  AttentionBackend backend = AttentionBackend::automatic;
  at::ScalarType compute_dtype = at::kDouble;
  std::string reason;  ///< "direct in fp32: τR² = 12.3 inside 1e4", for the log and `sum --explain`
};

/// The words of configs and messages.
std::string name_of(Reduction reduction);
std::string name_of(AttentionBackend backend);
const std::vector<std::pair<std::string, Reduction>>& reduction_names();
const std::vector<std::pair<std::string, AttentionBackend>>& backend_names();

}  // namespace gaussflow
