#include "gaussflow/config/value.hpp"
#include "gaussflow/core/device.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/core/version.hpp"
#include "gaussflow/flow/options.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/kernel/gauss_sum.hpp"

#include "app/block_sum.hpp"
#include "app/key_blocks.hpp"
#include "app/options.hpp"
#include "app/sum_choices.hpp"
#include "app/verbs.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

double tau_option(const std::string& text) {
  const std::optional<double> tau = config::parse_number(text);
  const std::string hint = tau ? "" : config::number_hint(text, false);
  if (!tau || *tau <= 0)
    throw UsageError(
        fmt::format("--tau must be finite and > 0, got '{}'{}", text, hint.empty() ? "" : fmt::format(" ({})", hint)));
  return *tau;
}

/// tau of the file: finite and > 0.
double tau_of(const io::ArrayFile& file) {
  const std::optional<double> tau = file.number("tau");
  if (!tau)
    throw InputError(
        fmt::format("{} has no {} 'tau': add --tau T", file.path().string(), file.archive() ? "array" : "root attribute"));
  if (!(*tau > 0) || !std::isfinite(*tau))
    throw InputError(fmt::format("{}: tau must be finite and > 0, got {}", file.path().string(), number_text(*tau)));
  return *tau;
}

/// log2 of how much the numbers on the way to the gradient may exceed Σ|v|.
double gradient_growth(const Tensor& q, const Tensor& k, double tau) {
  const auto largest = [](const Tensor& x) { return x.numel() == 0 ? 0.0 : x.abs().max().item<double>(); };
  return std::max(0.0, 2 + std::log2(std::max(largest(q), largest(k)))) + std::max(0.0, std::log2(tau));
}

ExitCode sum(const SumArguments& arguments) {
  GaussSumOptions options{.reduction = word_option<Reduction>("--reduction", arguments.reduction),
                          .backend = word_option<AttentionBackend>("--backend", arguments.backend)};
  if (!arguments.dtype.empty())
    options.compute_dtype = dtype_from_name(config::name_of(word_option<ComputeDtype>("--dtype", arguments.dtype)));
  std::optional<double> tau;
  if (!arguments.tau.empty()) tau = tau_option(arguments.tau);
  if (arguments.out.empty() && !arguments.explain)
    throw UsageError("sum: -o OUT.h5 is missing (or --explain, to see how the sum would be evaluated)");
  if (!arguments.out.empty()) check_output("sum", arguments.in, arguments.out, arguments.overwrite);
  set_threads(arguments.threads.empty() ? std::nullopt : std::optional(integer_option("--threads", arguments.threads, 1)));
  const c10::Device device = open_device(arguments.device);

  const io::ArrayFile file(arguments.in);
  Tensor q = Rows(file, "q").all();
  const bool widened = options.compute_dtype == at::kDouble;
  const KeyBlocks keys(file, q,
                       arguments.block.empty() ? std::nullopt : std::optional(integer_option("--block", arguments.block, 1)),
                       widened ? at::kDouble : at::kFloat);
  options.tau = tau ? *tau : tau_of(file);
  // One dtype for all three: the widest that is stored, and fp64 where that is asked for.
  const at::ScalarType dtype =
      widened || q.scalar_type() == at::kDouble || keys.dtype() == at::kDouble ? at::kDouble : at::kFloat;
  const at::ScalarType inside = options.compute_dtype.value_or(dtype) == at::kDouble ? at::kDouble : at::kFloat;
  q = q.to(device, dtype);
  SumChoices choices;
  BlockSum s(keys.count(), inside), gradient(keys.count(), inside);
  const auto evaluate = [&](const Tensor& k, const Tensor& v) {
    choices.add(choose(q, k, v, options));
    if (arguments.out.empty() && !checked_whole(q, k, v)) return;  // costs nothing: what is said of it has been tried
    s.add(v, 0, [&](const Tensor& values) { return gauss_sum(q, k, values, options); });
    if (arguments.gradient)
      gradient.add(v, gradient_growth(q, k, options.tau),
                   [&](const Tensor& values) { return gauss_sum_gradient(q, k, values, options); });
  };
  keys.visit([&](const Tensor& k, const Tensor& v, std::int64_t first) {
    try {
      evaluate(k.to(device, dtype), v.to(device, dtype));
    } catch (const UnsupportedError& error) {
      if (!keys.block()) throw;
      throw UnsupportedError(
          fmt::format("keys {} to {} of {}: {}", first, first + v.size(-2) - 1, keys.count(), error.what()));
    }
  });
  if (arguments.explain) {
    if (keys.block())
      fmt::print("keys in blocks of {}: {}\n", *keys.block(),
                 arguments.block.empty() ? "they do not fit into memory" : "as asked");
    for (const std::string& line : choices.lines()) fmt::print("{}\n", line);
  }
  if (arguments.out.empty()) return ExitCode::ok;
  std::map<std::string, Tensor> arrays{{"/s", s.total(dtype, "the sum").to(c10::kCPU)}};
  if (arguments.gradient) {
    const Tensor all = gradient.total(dtype, "the gradient").to(c10::kCPU);
    arrays["/grad"] = arrays["/s"].size(-1) == 1 ? all.squeeze(-2) : all;
  }
  std::map<std::string, double> numbers{{"tau", options.tau}};
  if (keys.block()) numbers["block"] = static_cast<double>(*keys.block());
  std::map<std::string, std::string> texts = choices.attributes();
  texts["reduction"] = arguments.reduction;
  texts["version"] = version();
  io::write_arrays(arguments.out, arrays, numbers, texts);
  return ExitCode::ok;
}

}  // namespace

Action add_sum(CLI::App& verb) {
  const auto arguments = std::make_shared<SumArguments>();
  verb.add_option("input", arguments->in,
                  "HDF5 file (or .npz) with /q [B?,M,D], /v [B?,N,C] and /k [B?,N,D] (without /k: k = q)")
      ->required()
      ->type_name("IN");
  verb.add_option("-o,--output", arguments->out, "file for /s [B?,M,C] and, with --gradient, /grad")->type_name("OUT.h5");
  verb.add_option("--tau", arguments->tau,
                  "precision of the kernel (default: the root attribute tau; of an .npz the array tau)")
      ->type_name("T");
  verb.add_option("--reduction", arguments->reduction, "auto, direct, reweight, prescale, logit or reference")
      ->type_name("R");
  verb.add_option("--backend", arguments->backend, "auto, flash, cudnn, memory_efficient or math")->type_name("B");
  verb.add_option("--dtype", arguments->dtype,
                  "type inside the reduction: fp16, bf16, fp32 or fp64 (default: as stored); fp64 also stores fp64")
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
