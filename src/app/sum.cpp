#include "gaussflow/config/value.hpp"
#include "gaussflow/core/device.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/flow/options.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "app/key_blocks.hpp"
#include "app/options.hpp"
#include "app/verbs.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <memory>

namespace gaussflow::app {

namespace {

struct SumArguments {
  std::string in;
  std::string out;
  std::string tau;
  std::string reduction = "auto";
  std::string backend = "auto";
  std::string dtype;
  std::string device = "cpu";
  std::string threads;
  std::string block;
  bool gradient = false;
  bool overwrite = false;
  bool explain = false;
};

template <class E>
E word_option(const std::string& option, const std::string& word) {
  std::vector<std::string> words;
  for (const auto& [name, value] : config::Names<E>::list()) {
    if (name == word) return value;
    words.push_back(name);
  }
  throw UsageError(fmt::format("{} must be {}, got '{}'{}", option, either(words), word, suggestion(word, words)));
}

void explain(const Choice& choice) {
  fmt::print("{} in {}{}: {}\n", name_of(choice.reduction), dtype_name(choice.compute_dtype),
             choice.backend == AttentionBackend::automatic ? "" : " on " + name_of(choice.backend), choice.reason);
}

/// sum += part, in fp64 where there are several parts.
void add(Tensor& sum, const Tensor& part, bool several) {
  const Tensor wide = several ? part.to(c10::kDouble) : part;
  sum = sum.defined() ? sum + wide : wide;
}

ExitCode sum(const SumArguments& arguments) {
  GaussSumOptions options{.reduction = word_option<Reduction>("--reduction", arguments.reduction),
                          .backend = word_option<AttentionBackend>("--backend", arguments.backend)};
  if (!arguments.dtype.empty())
    options.compute_dtype = dtype_from_name(config::name_of(word_option<ComputeDtype>("--dtype", arguments.dtype)));
  std::optional<double> tau;
  if (!arguments.tau.empty()) {
    tau = number_option("--tau", arguments.tau);
    if (*tau <= 0) throw UsageError(fmt::format("--tau must be > 0, got {}", arguments.tau));
  }
  if (arguments.out.empty() && !arguments.explain)
    throw UsageError("sum: -o OUT.h5 is missing (or --explain, to see how the sum would be evaluated)");
  if (!arguments.out.empty()) check_output("sum", arguments.in, arguments.out, arguments.overwrite);
  set_threads(arguments.threads.empty() ? std::nullopt : std::optional(integer_option("--threads", arguments.threads, 1)));
  const c10::Device device = open_device(arguments.device);

  std::map<std::string, double> attributes;
  Tensor q = io::read_array({arguments.in, "/q"}, &attributes);
  const KeyBlocks keys(
      arguments.in, q,
      arguments.block.empty() ? std::nullopt : std::optional(integer_option("--block", arguments.block, 1)));
  if (!tau) {
    const auto stored = attributes.find("tau");
    if (stored == attributes.end())
      throw InputError(fmt::format("{} has no root attribute 'tau': add --tau T", arguments.in));
    tau = stored->second;
    if (!(*tau > 0) || !std::isfinite(*tau))
      throw InputError(fmt::format("{}: the attribute tau must be finite and > 0, got {}", arguments.in, number_text(*tau)));
  }
  options.tau = *tau;
  std::map<std::string, Tensor> arrays;
  std::map<std::string, double> numbers{{"tau", *tau}};
  if (keys.block()) numbers["block"] = static_cast<double>(*keys.block());
  if (arguments.explain && keys.block())
    fmt::print("keys in blocks of {}: {}\n", *keys.block(),
               arguments.block.empty() ? "they do not fit into memory" : "as asked");
  bool first = true;
  keys.visit([&](Tensor k, Tensor v) {
    // One dtype for all three: the widest that is stored.
    const auto wide = [](const Tensor& t) { return t.scalar_type() == at::kDouble; };
    const at::ScalarType dtype = wide(q) || wide(k) || wide(v) ? at::kDouble : at::kFloat;
    q = q.to(device, dtype);
    k = k.to(device, dtype);
    v = v.to(device, dtype);
    if (arguments.explain && first) explain(choose(q, k, v, options));
    first = false;
    if (arguments.out.empty()) return;
    add(arrays["/s"], gauss_sum(q, k, v, options), keys.block().has_value());
    if (!arguments.gradient) return;
    const Tensor gradient = gauss_sum_gradient(q, k, v, options);
    add(arrays["/grad"], v.size(-1) == 1 ? gradient.squeeze(-2) : gradient, keys.block().has_value());
  });
  if (arguments.out.empty()) return ExitCode::ok;
  for (auto& [name, array] : arrays) array = array.to(c10::kCPU, q.scalar_type());
  io::write_arrays(arguments.out, arrays, numbers, {{"reduction", arguments.reduction}, {"version", version()}});
  return ExitCode::ok;
}

}  // namespace

Action add_sum(CLI::App& verb) {
  const auto arguments = std::make_shared<SumArguments>();
  verb.add_option("input", arguments->in, "HDF5 file with /q [B?,M,D], /v [B?,N,C] and /k [B?,N,D] (without /k: k = q)")
      ->required()
      ->type_name("IN.h5");
  verb.add_option("-o,--output", arguments->out, "file for /s [B?,M,C] and, with --gradient, /grad")->type_name("OUT.h5");
  verb.add_option("--tau", arguments->tau, "precision of the kernel (default: the root attribute tau)")->type_name("T");
  verb.add_option("--reduction", arguments->reduction, "auto, direct, reweight, prescale, logit or reference")
      ->type_name("R");
  verb.add_option("--backend", arguments->backend, "auto, flash, cudnn, memory_efficient or math")->type_name("B");
  verb.add_option("--dtype", arguments->dtype, "type inside the reduction: fp16, bf16, fp32 or fp64 (default: as stored)")
      ->type_name("T");
  verb.add_option("--device", arguments->device, "cpu, cuda or cuda:i")->type_name("DEVICE");
  verb.add_option("--threads", arguments->threads, "CPU threads")->type_name("N");
  verb.add_option("--block", arguments->block, "keys at once (default: all, or as many as fit into memory)")->type_name("N");
  verb.add_flag("--gradient", arguments->gradient, "also the gradient at the queries: [M,D] for one channel, else [M,C,D]");
  verb.add_flag("--overwrite", arguments->overwrite, "replace the output when it is there");
  verb.add_flag("--explain", arguments->explain, "say how the sum is evaluated and why");
  return [arguments] { return sum(*arguments); };
}

}  // namespace gaussflow::app
