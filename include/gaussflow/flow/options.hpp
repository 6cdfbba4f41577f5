#pragma once
/// The sections `kernel`, `particles` and `compute` of a config.

#include "gaussflow/config/schema.hpp"
#include "gaussflow/core/data_ref.hpp"
#include "gaussflow/flow/start.hpp"
#include "gaussflow/kernel/bandwidth.hpp"
#include "gaussflow/kernel/options.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace gaussflow {

enum class KernelType { gaussian };
enum class ParticleDtype { fp32, fp64 };
enum class ComputeDtype { fp16, bf16, fp32, fp64 };

/// τ, written in one of four ways, or the rule that chooses it.
struct KernelOptions {
  KernelType type = KernelType::gaussian;
  std::optional<double> tau;
  std::optional<double> sigma;
  std::optional<double> h;
  std::optional<BandwidthRule> bandwidth;
  std::optional<std::int64_t> refresh;
  std::int64_t subsample = 1500;

  /// τ where the config fixes it: tau, 1/σ² or 2/h.
  std::optional<double> fixed_tau() const;
};
const config::Schema<KernelOptions>& kernel_schema();

struct ParticleOptions {
  std::optional<std::int64_t> count;
  ChosenStart init = default_start();
  std::optional<DataRef> weights;
  ParticleDtype dtype = ParticleDtype::fp32;
};
const config::Schema<ParticleOptions>& particle_schema();

struct ComputeOptions {
  std::string device = "cpu";
  std::optional<std::int64_t> threads;
  std::optional<ComputeDtype> dtype;
  Reduction reduction = Reduction::automatic;
  AttentionBackend backend = AttentionBackend::automatic;
  std::optional<double> kappa;

  GaussSumOptions gauss_sum() const;
};
const config::Schema<ComputeOptions>& compute_schema();

}  // namespace gaussflow

namespace gaussflow::config {
template <>
struct Names<KernelType> {
  static std::vector<std::pair<std::string, KernelType>> list() { return {{"gaussian", KernelType::gaussian}}; }
};
template <>
struct Names<ParticleDtype> {
  static std::vector<std::pair<std::string, ParticleDtype>> list() {
    return {{"fp32", ParticleDtype::fp32}, {"fp64", ParticleDtype::fp64}};
  }
};
template <>
struct Names<ComputeDtype> {
  static std::vector<std::pair<std::string, ComputeDtype>> list() {
    return {{"fp16", ComputeDtype::fp16},
            {"bf16", ComputeDtype::bf16},
            {"fp32", ComputeDtype::fp32},
            {"fp64", ComputeDtype::fp64}};
  }
};
template <>
struct Names<BandwidthRule> {
  static std::vector<std::pair<std::string, BandwidthRule>> list() { return bandwidth_rule_names(); }
};
template <>
struct Names<Reduction> {
  static std::vector<std::pair<std::string, Reduction>> list() { return reduction_names(); }
};
template <>
struct Names<AttentionBackend> {
  static std::vector<std::pair<std::string, AttentionBackend>> list() { return backend_names(); }
};
}  // namespace gaussflow::config
