#include "gaussflow/flow/options.hpp"

#include "gaussflow/core/device.hpp"
#include "gaussflow/core/tensor.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gaussflow {

using config::Resume;

std::optional<double> KernelOptions::fixed_tau() const {
  if (tau) return tau;
  if (sigma) return 1 / (*sigma * *sigma);
  if (h) return 2 / *h;
  return std::nullopt;
}

const config::Schema<KernelOptions>& kernel_schema() {
  static const auto schema =
      config::Schema<KernelOptions>("the kernel Φ_τ(q,k) = exp(-τ/2 |q-k|²)")
          .key("type", &KernelOptions::type, {.doc = "radial profile"})
          .key("tau", &KernelOptions::tau,
               {.doc = "precision τ = 1/σ²; auto: by the bandwidth rule", .unit = "1/length²", .min = 1e-60, .max = 1e30})
          .key("sigma", &KernelOptions::sigma,
               {.doc = "standard deviation σ, instead of tau", .unit = "length", .min = 1e-15, .max = 1e30})
          .key("h", &KernelOptions::h,
               {.doc = "h of exp(-r²/h), instead of tau", .unit = "length²", .min = 1e-30, .max = 1e60})
          .key("bandwidth", &KernelOptions::bandwidth, {.doc = "rule that chooses τ where none is given; auto: median"})
          .key("refresh", &KernelOptions::refresh,
               {.doc = "steps between two applications of the rule; 0: only at the start; auto: svgd 10, mmd 0", .min = 0})
          .key("subsample", &KernelOptions::subsample,
               {.doc = "the rule looks at this many particles at most", .min = 2, .max = 20000})
          .check([](KernelOptions& kernel, const config::Node& node, config::Diagnostics& diagnostics) {
            std::vector<const config::Node::Entry*> in_file, set;
            for (const char* key : {"tau", "sigma", "h", "bandwidth"})
              if (const config::Node::Entry* entry = node.entry(key); entry && !config::is_auto(entry->value))
                (entry->rank == 0 ? in_file : set).push_back(entry);
            for (const auto& ways : {in_file, set})
              if (ways.size() > 1)
                diagnostics.error(ways.back()->mark, "tau, sigma, h and bandwidth are four ways to say one thing: keep one");
            if (set.empty()) return;
            for (const config::Node::Entry* entry : in_file) {  // a --set of one way replaces another way of the file
              if (entry->key == "bandwidth") kernel.bandwidth.reset();
              for (const auto& [key, way] :
                   {std::pair{"tau", &kernel.tau}, std::pair{"sigma", &kernel.sigma}, std::pair{"h", &kernel.h}})
                if (entry->key == key) way->reset();
            }
          })
          .main("tau");
  return schema;
}

const config::Schema<ComputeOptions>& compute_schema() {
  static const auto schema =
      config::Schema<ComputeOptions>("on what, and how sums are evaluated")
          .key("device", &ComputeOptions::device, {.doc = "cpu, cuda or cuda:i", .resume = Resume::bits})
          .key("threads", &ComputeOptions::threads,
               {.doc = "CPU threads; auto: all cores", .min = 1, .max = 4096, .resume = Resume::bits})
          .key("dtype", &ComputeOptions::dtype,
               {.doc = "type inside the sums; auto: that of the particles", .resume = Resume::bits})
          .key("reduction", &ComputeOptions::reduction, {.doc = "how a Gauss sum becomes attention", .resume = Resume::bits})
          .key("backend", &ComputeOptions::backend, {.doc = "which attention evaluates it", .resume = Resume::bits})
          .key("kappa", &ComputeOptions::kappa,
               {.doc = "weight of reweight's auxiliary key; auto: √(N+1) rounded to a power of two",
                .min = 0,
                .open_min = true,
                .resume = Resume::bits})
          .check([](ComputeOptions& compute, const config::Node& node, config::Diagnostics& diagnostics) {
            if (!names_device(compute.device))
              diagnostics.error(node.at("device"), fmt::format("compute.device must be cpu, cuda or cuda:i, got '{}'",
                                                               config::printable(compute.device)));
          })
          .main("device");
  return schema;
}

GaussSumOptions ComputeOptions::gauss_sum() const {
  GaussSumOptions options{.reduction = reduction, .backend = backend, .kappa = kappa};
  if (dtype) options.compute_dtype = dtype_from_name(config::name_of(*dtype));
  return options;
}

const config::Schema<ParticleOptions>& particle_schema() {
  static const auto schema =
      config::Schema<ParticleOptions>("how many particles and where they start")
          .key("count", &ParticleOptions::count,
               {.doc = "number of particles; auto: as many as the start has", .min = 1, .max = 1e9})
          .choice(config::Form::one_of, "init", &ParticleOptions::init, starts, {.doc = "where the particles start"})
          .key("weights", &ParticleOptions::weights,
               {.doc = "FILE or FILE:/dataset of weights [N], kept through the run; auto: equal"})
          .key("dtype", &ParticleOptions::dtype, {.doc = "type the particles are stored in"})
          .main("count");
  return schema;
}

}  // namespace gaussflow
