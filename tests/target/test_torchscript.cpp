#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <torch/script.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#undef CHECK
#include <doctest/doctest.h>

using namespace gaussflow;
using namespace gaussflow::testing;

namespace {

/// A TorchScript file made of `source`, with a buffer `shift`.
std::string script(const std::string& name, const std::string& source, at::ScalarType dtype = at::kFloat) {
  torch::jit::Module module(name);
  module.register_buffer("shift", at::tensor({1.0, -2.0}, at::kDouble).to(dtype));
  if (!source.empty()) module.define(source);
  const auto file = scratch() / (name + ".pt");
  module.save(file.string());
  return file.string();
}

std::string target_of(const std::string& file, int dim = 2) {
  return fmt::format("{{torchscript: {{file: '{}', dim: {}}}}}", file, dim);
}

std::string why(const std::string& name, const std::string& source) { return failure(target_of(script(name, source))); }

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text << "   lacks   " << part);
  return found;
}

}  // namespace

TEST_CASE("a scripted normal law equals the formula, in fp32 and fp64, whatever dtype it was saved in") {
  const auto exact = make_target("{gaussian: {mean: [1, -2]}}");
  for (const auto saved : {at::kFloat, at::kDouble}) {
    const auto target = make_target(target_of(script("law", R"(
def log_prob(self, x):
    return -0.5 * (x - self.shift).square().sum(1)
)",
                                                     saved)));
    CHECK(target->dim() == 2);
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      const Tensor x = normal({1, Stream::data, 0}, 100, 2).to(dtype);
      const Density found = target->density(x, {});
      CHECK((found.score.scalar_type() == dtype));
      CHECK((found.log_prob.scalar_type() == dtype));
      CHECK_FALSE(found.score.requires_grad());
      CHECK(at::allclose(found.score, exact->density(x, {}).score, 1e-6, 1e-6));
    }
  }
}

TEST_CASE("forward will do, and log_prob goes before it") {
  const std::string forward = "def forward(self, x):\n    return -x.square().sum(1)\n";
  const Tensor x = at::ones({1, 2}, at::kDouble);
  CHECK(make_target(target_of(script("forward", forward)))->density(x, {}).log_prob.item<double>() == -2);
  CHECK(make_target(target_of(script("both", forward + "def log_prob(self, x):\n    return -3 * x.square().sum(1)\n")))
            ->density(x, {})
            .log_prob.item<double>() == -6);
}

TEST_CASE("works under the modes of a run without gradients") {
  const auto target = make_target("{torchscript: {file: ../../data/own_density.pt, dim: 2}}");
  const Tensor x = normal({1, Stream::data, 0}, 10, 2);
  const Tensor score = target->density(x, {}).score;
  {
    const at::NoGradGuard no_gradients;
    CHECK(at::equal(target->density(x, {}).score, score));
  }
  {
    const c10::InferenceMode inference;
    const Tensor inside = normal({1, Stream::data, 0}, 10, 2);
    CHECK(at::equal(target->density(inside, {}).score, score));
  }
}

TEST_CASE("bits do not depend on how often the density was asked, nor on its other users") {
  const std::string file = script("network", R"(
def log_prob(self, x):
    h = torch.tanh(x * self.shift + 0.3)
    for i in range(5):
        h = torch.tanh(h * 1.7 + torch.sin(h) / (1.0 + h.square()))
    return -torch.logsumexp(h * x, 1) - 0.5 * x.square().sum(1)
)");
  const auto target = make_target(target_of(file));
  const Tensor x = normal({2, Stream::data, 0}, 1000, 2).to(at::kFloat);
  const Density first = target->density(x, {});
  for (int i = 0; i < 20; ++i) {
    const Density again = target->density(x, {});
    REQUIRE(at::equal(first.score, again.score));
    REQUIRE(at::equal(first.log_prob, again.log_prob));
    target->density(x.slice(0, 0, 1 + i), {});
  }
  CHECK(at::equal(make_target(target_of(file))->density(x, {}).score, first.score));
  CHECK(relative_error(target->density(x.slice(0, 0, 50).to(at::kDouble), {}).score,
                       difference_score(*target, x.slice(0, 0, 50).to(at::kDouble), 3e-5)) < 1e-9);
}

TEST_CASE("own_density: score, mean and sd as documented") {
  const auto target = make_target("{torchscript: {file: ../../data/own_density.pt, dim: 2}}");
  const Tensor x = normal({1, Stream::data, 0}, 10, 2);
  CHECK(relative_error(target->density(x, {}).score, difference_score(*target, x)) < 1e-9);
  const std::vector<Tensor> mesh =
      at::meshgrid({at::linspace(-6, 6, 601, at::kDouble), at::linspace(-8, 8, 801, at::kDouble)}, "ij");
  const Tensor grid = at::stack({mesh[0].flatten(), mesh[1].flatten()}, 1);
  const Tensor p = at::softmax(target->density(grid, {}).log_prob, 0), mean = at::mv(grid.t(), p);
  CHECK(at::allclose(mean, tensor_from({0.090517, -0.760675}), 0, 2e-6));
  CHECK(at::allclose(at::mv((grid - mean).square().t(), p).sqrt(), tensor_from({0.346821, 0.415793}), 0, 2e-6));
}

TEST_CASE("integer buffers stay integers") {
  torch::jit::Module module("indexed");
  module.register_buffer("order", at::tensor({1, 0}, at::kLong));
  module.register_buffer("scale", at::tensor({1.0, 2.0}));
  module.define("def log_prob(self, x):\n    return -(torch.index_select(x, 1, self.order) * self.scale).square().sum(1)\n");
  const auto file = scratch() / "indexed.pt";
  module.save(file.string());
  const auto target = make_target(target_of(file.string()));
  CHECK(at::equal(target->density(at::ones({1, 2}, at::kDouble), {}).score, tensor_from({-8, -2}, 1, 2)));
}

TEST_CASE("a density that needs fp64 is usable and told") {
  // 7 is float64: the tensor made inside does not follow the particles.
  const auto target = make_target(target_of(
      script("double_only", "def log_prob(self, x):\n    return -torch.mm(x, torch.eye(2, dtype=7)).square().sum(1)\n")));
  REQUIRE(target->notes().size() == 1);
  CHECK(contains(target->notes()[0], "fp64 only"));
  CHECK(at::equal(target->density(at::ones({1, 2}, at::kDouble), {}).score, at::full({1, 2}, -2.0, at::kDouble)));
  CHECK_THROWS_AS(target->density(at::ones({1, 2}), {}), InputError);
  CHECK(make_target("{torchscript: {file: ../../data/own_density.pt, dim: 2}}")->notes().empty());
}

TEST_CASE("the module is used as for prediction") {
  torch::jit::Module module("dropout");
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define("def log_prob(self, x):\n    return -torch.dropout(x, 0.5, self.training).square().sum(1)\n");
  const auto file = scratch() / "dropout.pt";
  module.save(file.string());
  CHECK(failure(target_of(file.string())) == "");
}

TEST_CASE("what cannot be a density is refused at load, with the file and what it gave") {
  CHECK(contains(failure("{torchscript: {file: nowhere.pt, dim: 2}}"), "nowhere.pt does not exist"));
  CHECK(contains(failure("{torchscript: {file: iris2.h5, dim: 2}}"), "iris2.h5 is not a TorchScript file"));
  CHECK(contains(failure("{torchscript: {file: ../../data/own_density.pt}}"), "dim"));
  CHECK(contains(why("empty", ""), "neither log_prob nor forward"));
  CHECK(contains(why("energy", "def energy(self, x):\n    return x.sum(1)\n"), "its methods are energy"));
  CHECK(contains(why("column", "def log_prob(self, x):\n    return x.sum(1, keepdim=True)\n"),
                 "returned a tensor of shape [4, 1], expected a tensor of shape [4]"));
  CHECK(contains(why("scalar", "def log_prob(self, x):\n    return x.sum()\n"), "shape []"));
  CHECK(contains(why("pair", "def log_prob(self, x):\n    return (x.sum(1), x)\n"), "returned Tuple"));
  CHECK(contains(why("truth", "def log_prob(self, x):\n    return x.sum(1) > 0.0\n"), "returned Bool"));
  CHECK(contains(why("nan", "def log_prob(self, x):\n    return torch.sqrt(x.sum(1) - 1000.0)\n"),
                 "log_prob is NaN at the point ("));
  CHECK(contains(why("infinite", "def log_prob(self, x):\n    return torch.log(torch.relu(x.sum(1) - 1000.0))\n"),
                 "is -inf at the point ("));
  CHECK(contains(why("kink", "def log_prob(self, x):\n    return -torch.sqrt((x * 0.0).square().sum(1))\n"),
                 "the score is NaN"));
  CHECK(contains(why("constant", "def log_prob(self, x):\n    return torch.zeros(x.size(0))\n"),
                 "does not depend on x for autograd"));
  CHECK(contains(why("detached", "def log_prob(self, x):\n    return -x.detach().square().sum(1)\n"),
                 "does not depend on x for autograd"));
  CHECK(contains(why("coupled", "def log_prob(self, x):\n    return -(x - x.mean(0)).square().sum(1)\n"),
                 "depends on the other particles"));
  CHECK(contains(why("random", "def log_prob(self, x):\n    return -(x + torch.rand_like(x)).square().sum(1)\n"),
                 "draw no random numbers"));
  CHECK(contains(why("arguments", "def log_prob(self, x, t):\n    return x.sum(1) + t\n"), "log_prob failed for"));
  const std::string three =
      failure(target_of(script("three", "def log_prob(self, x):\n    return -(x - self.shift).square().sum(1)\n"), 3));
  CHECK(contains(three, "three.pt: log_prob failed for fp"));
  CHECK(contains(three, "shape [4, 3]"));
  CHECK(three.find("Exception raised from") == std::string::npos);
}

TEST_CASE("the record is the digest of the file") {
  const std::string law = "def log_prob(self, x):\n    return -x.square().sum(1)\n";
  const auto a = make_target(target_of(script("digest_a", law)))->record();
  std::filesystem::copy_file(scratch() / "digest_a.pt", scratch() / "copy.pt",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(a == make_target(target_of((scratch() / "copy.pt").string()))->record());
  CHECK_FALSE(a == make_target(target_of(script("digest_b", law + "\n")))->record());
  CHECK(a.digest.size() == 64);
}

TEST_CASE("what a model prints goes to standard error") {
  const std::string file = script("talks", R"(
def log_prob(self, x):
    print("at", x.size(0))
    return -0.5 * x.square().sum(1)
)");
  const auto heard = scratch() / "talks.stderr";
  std::ostringstream out;
  std::fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  const int to = open(heard.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(to, STDERR_FILENO);
  std::streambuf* const before = std::cout.rdbuf(out.rdbuf());
  const auto target = make_target(target_of(file));
  target->density(at::zeros({7, 2}), {});
  std::cout.rdbuf(before);
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(to);
  std::ifstream in(heard);
  const std::string said((std::istreambuf_iterator<char>(in)), {});
  CHECK(contains(said, "at 7\n"));
  CHECK(out.str().empty());
}
