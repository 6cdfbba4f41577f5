#include "sample_config.hpp"

#include "gaussflow/core/error.hpp"

namespace sample {

using gaussflow::config::Diagnostics;
using gaussflow::config::Form;
using gaussflow::config::make_plugin;
using gaussflow::config::Node;
using gaussflow::config::Plugins;
using gaussflow::config::Resume;
using gaussflow::config::Schema;

namespace {

struct Text : Product {
  explicit Text(std::string text) : text_(std::move(text)) {}
  std::string describe() const override { return text_; }
  std::string text_;
};

}  // namespace

const Plugins<Product>& flows() {
  static const Plugins<Product> all{
      {"mmd", make_plugin<Product>("mmd",
                                   Schema<Mmd>("MMD gradient flow")
                                       .key("gradient", &Mmd::gradient, {.doc = "how the gradient is computed"})
                                       .key("anneal", &Mmd::anneal, {.doc = "annealing rate", .min = 0}),
                                   [](const Mmd&) { return std::make_unique<Text>("mmd"); })},
      {"svgd",
       make_plugin<Product>(
           "svgd",
           Schema<Svgd>("Stein variational gradient descent").key("weighted", &Svgd::weighted, {.doc = "weights move too"}),
           [](const Svgd& options) { return std::make_unique<Text>(options.weighted ? "weighted svgd" : "svgd"); })},
  };
  return all;
}

const Plugins<Product, int>& targets() {
  static const Plugins<Product, int> all{
      {"samples", make_plugin<Product, int>("samples",
                                            Schema<Samples>("samples in a file")
                                                .key("file", &Samples::file, {.doc = "the samples", .required = true})
                                                .key("batch", &Samples::batch, {.doc = "samples per step", .min = 1})
                                                .main("file"),
                                            [](const Samples& options, int seed) {
                                              return std::make_unique<Text>(options.file.text() + " seed " +
                                                                            std::to_string(seed));
                                            })},
      {"gaussian",
       make_plugin<Product, int>("gaussian",
                                 Schema<Gaussian>("normal law")
                                     .key("mean", &Gaussian::mean, {.doc = "mean"})
                                     .key("cov", &Gaussian::cov, {.doc = "covariance matrix"})
                                     .check([](const Gaussian& gaussian, const Node& node, Diagnostics& diagnostics) {
                                       for (const auto& row : gaussian.cov)
                                         if (row.size() != gaussian.mean.size() || gaussian.cov.size() != row.size()) {
                                           diagnostics.error(node.at("cov"),
                                                             diagnostics.path("cov") + " must have the size of the mean");
                                           return;
                                         }
                                     }),
                                 [](const Gaussian&, int) { return std::make_unique<Text>("gaussian"); })},
      {"banana", make_plugin<Product, int>(
                     "banana",
                     Schema<Banana>("bent normal law")
                         .key("curvature", &Banana::curvature, {.doc = "how strongly it is bent", .min = -10, .max = 10}),
                     [](const Banana&, int) { return std::make_unique<Text>("banana"); })},
  };
  return all;
}

const Plugins<Product>& starts() {
  static const Plugins<Product> all{
      {"normal",
       make_plugin<Product>("normal",
                            Schema<Normal>("normal draws")
                                .key("mean", &Normal::mean, {.doc = "mean"})
                                .key("std", &Normal::std, {.doc = "standard deviation", .min = 0, .open_min = true}),
                            [](const Normal&) { return std::make_unique<Text>("normal"); })},
      {"run", make_plugin<Product>("run",
                                   Schema<Run>("the end of another run")
                                       .key("folder", &Run::folder, {.doc = "its folder", .required = true})
                                       .main("folder"),
                                   [](const Run& options) { return std::make_unique<Text>(options.folder.string()); })},
  };
  return all;
}

const Schema<Config>& schema() {
  static const Schema<Config> root =
      Schema<Config>("a run")
          .key("name", &Config::name, {.doc = "file stem", .resume = Resume::free})
          .key("seed", &Config::seed, {.doc = "of all random numbers", .min = 0, .required = true, .example = "1"})
          .choice(Form::typed, "flow", &Config::flow, flows, {.doc = "what moves the particles", .required = true})
          .choice(Form::one_of, "target", &Config::target, targets, {.doc = "what they move to", .required = true})
          .section("particles", &Config::particles,
                   Schema<Particles>("the particles")
                       .key("count", &Particles::count, {.doc = "number of particles", .min = 1, .max = 1e9})
                       .choice(Form::one_of, "init", &Particles::init, starts, {.doc = "where they start"})
                       .main("count"),
                   {})
          .section("kernel", &Config::kernel,
                   Schema<Kernel>("the kernel")
                       .key("tau", &Kernel::tau, {.doc = "precision", .min = 0, .open_min = true})
                       .key("sigma", &Kernel::sigma, {.doc = "width, τ = 1/σ²", .min = 0, .open_min = true})
                       .key("bandwidth", &Kernel::bandwidth, {.doc = "rule that chooses τ"})
                       .key("refresh", &Kernel::refresh, {.doc = "steps between choices", .min = 1})
                       .main("bandwidth")
                       .check([](const Kernel& kernel, const Node& node, Diagnostics& diagnostics) {
                         if (kernel.tau && kernel.sigma)
                           diagnostics.error(node.at("sigma"), "give " + diagnostics.path("tau") + " or " +
                                                                   diagnostics.path("sigma") + ", not both");
                       }),
                   {})
          .section("step", &Config::step,
                   Schema<Step>("how they move")
                       .key("count", &Step::count, {.doc = "total number of steps", .min = 0, .resume = Resume::free})
                       .key("method", &Step::method, {.doc = "the stepper"})
                       .key("size", &Step::size, {.doc = "step size", .min = 0, .open_min = true})
                       .key("mu", &Step::mu, {.doc = "momentum", .min = 0, .max = 1, .open_max = true})
                       .main("count"),
                   {})
          .section("checkpoint", &Config::checkpoint,
                   Schema<Checkpoint>("checkpoints")
                       .key("every", &Checkpoint::every, {.doc = "how often", .resume = Resume::free})
                       .key("keep", &Checkpoint::keep, {.doc = "how many stay", .min = 1, .resume = Resume::free})
                       .main("every"),
                   {.resume = Resume::free})
          .key("meta", &Config::meta, {.doc = "anything", .resume = Resume::free});
  return root;
}

Outcome read(const std::string& text, const std::vector<std::string>& overrides, const std::string& directory) {
  Outcome outcome;
  try {
    Node root = config::parse_yaml(text, "run.yaml", directory);
    Diagnostics diagnostics;
    for (const std::string& assignment : overrides) config::apply_override(root, assignment, "", diagnostics);
    const Config value = schema().read(root, diagnostics);
    diagnostics.throw_if_any();
    outcome.json = schema().write(value);
  } catch (const gaussflow::ConfigError& error) {
    outcome.errors = error.what();
  }
  return outcome;
}

}  // namespace sample
