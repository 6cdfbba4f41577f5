#pragma once
/// A config of the shape that real ones have: sections, open sets, shorthands, every kind of value.

#include "gaussflow/config/schema.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sample {

namespace config = gaussflow::config;

struct Product {
  virtual ~Product() = default;
  virtual std::string describe() const = 0;
};

enum class Gradient { eq8, autograd };
enum class Method { euler, momentum, rmsprop };

struct Mmd {
  Gradient gradient = Gradient::eq8;
  std::optional<double> anneal;
};
struct Svgd {
  bool weighted = false;
};
struct Samples {
  gaussflow::DataRef file;
  std::optional<std::int64_t> batch;
};
struct Gaussian {
  std::vector<double> mean{0, 0};
  std::vector<std::vector<double>> cov;
};
struct Banana {
  double curvature = 0.5;
};
struct Normal {
  std::vector<double> mean{0};
  std::vector<double> std{1};
};
struct Run {
  std::filesystem::path folder;
};

using Flow = config::Chosen<Product>;
using Target = config::Chosen<Product, int>;

struct Particles {
  std::int64_t count = 1000;
  Flow init;
};
struct Kernel {
  std::optional<double> tau;
  std::optional<double> sigma;
  std::string bandwidth = "median";
  std::int64_t refresh = 10;
};
struct Step {
  std::int64_t count = 1000;
  Method method = Method::euler;
  std::optional<double> size;
  double mu = 0.9;
};
struct Checkpoint {
  config::Interval every{.steps = {}, .seconds = 300};
  std::int64_t keep = 2;
};
struct Config {
  std::string name;
  std::int64_t seed = 0;
  Flow flow;
  Target target;
  Particles particles;
  Kernel kernel;
  Step step;
  Checkpoint checkpoint;
  config::Json meta = config::Json::object();
};

const config::Plugins<Product>& flows();
const config::Plugins<Product, int>& targets();
const config::Plugins<Product>& starts();
const config::Schema<Config>& schema();

/// The resolved form of a config, or all its errors joined.
struct Outcome {
  config::Json json;
  std::string errors;
  bool ok() const { return errors.empty(); }
};
Outcome read(const std::string& text, const std::vector<std::string>& overrides = {}, const std::string& directory = "");

inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sample

template <>
struct gaussflow::config::Names<sample::Gradient> {
  static std::vector<std::pair<std::string, sample::Gradient>> list() {
    return {{"eq8", sample::Gradient::eq8}, {"autograd", sample::Gradient::autograd}};
  }
};
template <>
struct gaussflow::config::Names<sample::Method> {
  static std::vector<std::pair<std::string, sample::Method>> list() {
    return {{"euler", sample::Method::euler}, {"momentum", sample::Method::momentum}, {"rmsprop", sample::Method::rmsprop}};
  }
};
