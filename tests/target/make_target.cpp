#include "target/make_target.hpp"

#include "gaussflow/config/schema.hpp"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

namespace gaussflow::testing {

std::unique_ptr<Target> make_target(const std::string& yaml, std::uint64_t seed) {
  config::Diagnostics diagnostics;
  const config::Node root = config::parse_yaml("target: " + yaml, "test.yaml", GAUSSFLOW_TEST_DATA);
  const ChosenTarget chosen =
      config::read_one_of(*root.find("target"), Registry<TargetPlugin>::instance().entries(), "target", diagnostics);
  diagnostics.throw_if_any();
  return chosen.make({.seed = seed});
}

std::string failure(const std::string& yaml) {
  try {
    make_target(yaml);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

const std::filesystem::path& scratch() {
  struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("gaussflow-target-{}", ::getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

Tensor difference_score(const Target& target, const Tensor& x, double h, const Draw& draw) {
  Tensor result = at::zeros_like(x);
  for (std::int64_t d = 0; d < x.size(1); ++d) {
    const auto shifted = [&](double by) {
      Tensor moved = x.clone();
      moved.select(1, d).add_(by);
      return target.density(moved, draw).log_prob;
    };
    result.select(1, d).copy_((8 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) / (12 * h));
  }
  return result;
}

double relative_error(const Tensor& a, const Tensor& b) {
  return ((a.to(at::kDouble) - b.to(at::kDouble)).abs().max() / (1 + b.abs().max())).item<double>();
}

bool independent_of_threads(const Target& target, const Tensor& x) {
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Density alone = target.density(x, {});
  bool same = true;
  for (const int threads : {2, 3, 4}) {
    at::set_num_threads(threads);
    const Density together = target.density(x, {});
    same = same && at::equal(alone.log_prob, together.log_prob) && at::equal(alone.score, together.score);
  }
  at::set_num_threads(before);
  return same;
}

}  // namespace gaussflow::testing
