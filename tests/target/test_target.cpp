#include "gaussflow/target/target.hpp"

#include "target/make_target.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

using namespace gaussflow;
using namespace gaussflow::testing;

TEST_CASE("each file of src/target/builtin registers one target of its name") {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(GAUSSFLOW_SOURCE_DIR) / "src/target/builtin"))
    if (entry.path().extension() == ".cpp") files.push_back(entry.path().stem().string());
  std::sort(files.begin(), files.end());
  CHECK(files == Registry<TargetPlugin>::instance().names());
}

TEST_CASE("what a target lacks is said with what would do") {
  const auto flat = make_target("flat");
  CHECK_FALSE(flat->has_samples());
  CHECK_THROWS_WITH_AS(flat->samples({}, at::kFloat), doctest::Contains("flat has no samples"), UsageError);
  CHECK_FALSE(flat->moments());
  const auto moons = make_target("{samples: ../../data/two_moons.h5:/x}");
  CHECK_FALSE(moons->has_density());
  CHECK_THROWS_WITH_AS(moons->density(at::zeros({3, 2}), {}), doctest::Contains("samples has no density"), UsageError);
}

TEST_CASE("coordinates are named x1, x2 … unless the target knows better") {
  CHECK(make_target("{flat: 3}")->names() == std::vector<std::string>{"x1", "x2", "x3"});
  CHECK(make_target("eight_schools")->names()[2] == "theta_1");
}
