#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/core/say.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/target/formula.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/script.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

namespace gaussflow {
namespace {

struct Options {
  std::filesystem::path file;
  std::int64_t dim = 0;
};

/// LibTorch's message without its C++ frames; of a failure inside the module, the last of its tracebacks: the source as it
/// was written where the file knows it.
std::string reason(const std::exception& e) {
  const auto* error = dynamic_cast<const c10::Error*>(&e);
  std::string text = error ? error->what_without_backtrace() : e.what();
  const std::size_t traceback = text.rfind("Traceback of TorchScript");
  if (traceback != std::string::npos) text = text.substr(text.find('\n', traceback));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return text;
}

/// A model's print() belongs to the messages: standard output is for what a verb makes.
void print_to_stderr() {
  static const bool once = [] {
    torch::jit::setPrintHandler([](const std::string& text) { say("{}", text); });
    return true;
  }();
  (void)once;
}

torch::jit::Module load(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file))
    throw InputError(fmt::format("{} does not exist{}", file.string(), file_suggestion(file)));
  print_to_stderr();
  try {
    torch::jit::Module module = torch::jit::load(file.string(), at::kCPU);
    module.eval();
    return module;
  } catch (const std::exception& e) {
    throw InputError(fmt::format("{} is not a TorchScript file (write it by torch.jit.script(module).save(...)): {}",
                                 file.string(), reason(e)));
  }
}

std::string method_of(const torch::jit::Module& module, const std::filesystem::path& file) {
  for (const char* name : {"log_prob", "forward"})
    if (module.find_method(name)) return name;
  std::vector<std::string> found;
  for (const auto& method : module.get_methods()) found.push_back(method.name());
  throw InputError(fmt::format("{} has neither log_prob nor forward{}", file.string(),
                               found.empty() ? ": it has no method at all (torch.jit.export keeps one)"
                                             : fmt::format(": its methods are {}", fmt::join(found, ", "))));
}

/// A density written in PyTorch: log_prob(x [N, D]) → [N], the score by autograd of its sum.
class TorchScript final : public Target {
 public:
  explicit TorchScript(const Options& o)
      : file_(o.file),
        dim_(o.dim),
        module_(load(o.file)),
        method_(method_of(module_, o.file)),
        digest_(file_digest(o.file)) {
    probe();
  }

  std::int64_t dim() const override { return dim_; }
  bool has_density() const override { return true; }
  std::vector<std::string> notes() const override {
    return note_.empty() ? std::vector<std::string>{} : std::vector<std::string>{note_};
  }
  TargetRecord record() const override { return {.kind = "torchscript", .digest = digest_, .shape = {}}; }

  Density density(const Tensor& x, const Draw&) const override {
    check_particles("torchscript", dim_, x);
    const std::lock_guard lock(mutex_);
    // A run holds no gradients; here they are wanted, whatever the caller's mode.
    const c10::InferenceMode no_inference(false);
    const at::AutoGradMode with_gradients(true);
    const Tensor leaf = x.detach().clone().set_requires_grad(true);
    const Tensor log_prob = call(leaf);
    if (!log_prob.requires_grad())
      throw InputError(
          fmt::format("{}: the result of {} does not depend on x for autograd: no torch.no_grad(), detach() or numbers "
                      "taken out of tensors on the way",
                      file_.string(), method_));
    Tensor score;
    try {
      score = torch::autograd::grad({log_prob.sum()}, {leaf})[0];
    } catch (const std::exception& e) {
      throw InputError(fmt::format("{}: no gradient of {}: {}", file_.string(), method_, reason(e)));
    }
    return {.log_prob = log_prob.detach(), .score = score.detach()};
  }

 private:
  /// The module with its floating parameters and buffers in x's dtype and on its device; its integers stay what they are.
  torch::jit::Module& module_like(const Tensor& x) const {
    const auto key = std::make_pair(x.scalar_type(), x.device().str());
    const auto known = converted_.find(key);
    if (known != converted_.end()) return known->second;
    torch::jit::Module module = module_.deepcopy();
    const auto convert = [&](Tensor t) {
      const at::NoGradGuard no_gradients;
      t.set_requires_grad(false);
      t.set_data(t.is_floating_point() ? t.to(x.options()) : t.to(x.device()));
    };
    for (const Tensor& t : module.parameters()) convert(t);
    for (const Tensor& t : module.buffers()) convert(t);
    return converted_.emplace(key, std::move(module)).first->second;
  }

  Tensor call(const Tensor& x) const {
    c10::IValue returned;
    try {
      // Without the optimising executor: it specialises after the first calls, and the last bits would depend on how many
      // there were.
      const torch::jit::GraphOptimizerEnabledGuard plain(false);
      returned = module_like(x).get_method(method_)({x});
    } catch (const std::exception& e) {
      const std::string why = reason(e);
      throw InputError(fmt::format("{}: {} failed for {} particles of shape {}:{}{}", file_.string(), method_,
                                   dtype_name(x.scalar_type()), shape_text(x), why.starts_with('\n') ? "" : " ", why));
    }
    const std::string wanted = fmt::format("a tensor of shape [{}] for {} particles", x.size(0), x.size(0));
    if (!returned.isTensor())
      throw InputError(fmt::format("{}: {} returned {}, expected {}", file_.string(), method_, returned.tagKind(), wanted));
    const Tensor result = returned.toTensor();
    if (result.dim() != 1 || result.size(0) != x.size(0))
      throw InputError(fmt::format("{}: {} returned a tensor of shape {}, expected {}", file_.string(), method_,
                                   shape_text(result), wanted));
    if (!result.is_floating_point())
      throw InputError(fmt::format("{}: {} returned {}, expected {}", file_.string(), method_,
                                   c10::toString(result.scalar_type()), wanted));
    return result.to(x.scalar_type());
  }

  /// Asks for a few points now, so that a run of hours does not end on what can be seen at once.
  void probe() {
    try {
      probe(at::kFloat);
    } catch (const InputError& single) {
      try {
        probe(at::kDouble);
      } catch (const InputError&) {
        throw single;
      }
      note_ = fmt::format("usable with particles.dtype: fp64 only; with fp32: {}", single.what());
    }
  }

  void probe(at::ScalarType dtype) const {
    const Tensor x = normal({0, Stream::data, 0}, 4, dim_).to(dtype);
    const Density all = density(x, {});
    for (const auto& [what, values] : {std::pair{method_, all.log_prob}, std::pair{std::string("the score"), all.score}})
      for (std::int64_t i = 0; i < x.size(0); ++i)
        if (at::isnan(values[i]).any().item<bool>())
          throw InputError(fmt::format("{}: {} is NaN at the point {}", file_.string(), what, point(x, i)));
    if (!at::isfinite(all.log_prob).any().item<bool>())
      throw InputError(fmt::format("{}: {} is {} at the point {} and everywhere else that was tried", file_.string(),
                                   method_, all.log_prob[0].item<double>(), point(x, 0)));
    const Density one = density(x.slice(0, 0, 1), {});
    const double together = all.log_prob[0].item<double>(), alone = one.log_prob[0].item<double>();
    if (std::isfinite(together) && std::abs(together - alone) > 1e-3 * (1 + std::abs(alone)))
      throw InputError(
          fmt::format("{}: {} of a particle depends on the other particles ({} alone, {} among 4): it must treat the "
                      "rows of x one by one and draw no random numbers",
                      file_.string(), method_, alone, together));
  }

  static std::string point(const Tensor& x, std::int64_t row) {
    return fmt::format("({:.4g})", fmt::join(to_vector(x[row]), ", "));
  }

  std::filesystem::path file_;
  std::int64_t dim_;
  torch::jit::Module module_;
  std::string method_;
  std::string digest_;
  std::string note_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<at::ScalarType, std::string>, torch::jit::Module> converted_;
};

[[maybe_unused]] const bool registered =
    register_target("torchscript",
                    config::Schema<Options>("a density written in PyTorch and saved by torch.jit: log_prob(x [N, D]) -> [N]")
                        .key("file", &Options::file,
                             {.doc = "the .pt file; it is a program, use only one that you trust",
                              .required = true,
                              .resume = config::Resume::free,
                              .example = "data/own_density.pt"})
                        .key("dim", &Options::dim, {.doc = "dimension D of x", .min = 1, .required = true, .example = "2"})
                        .main("file"),
                    [](const Options& o, const TargetContext&) { return std::make_unique<TorchScript>(o); });

}  // namespace
}  // namespace gaussflow
