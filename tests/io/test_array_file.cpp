#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/sample_file.hpp"

#include "io/refusal.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

using namespace gaussflow;
using namespace support;

TEST_CASE("arrays written are arrays read, at any rank") {
  const Folder folder;
  const std::map<std::string, Tensor> arrays{{"/s", normal({1, Stream::data, 0}, 6, 4).view({2, 3, 4})},
                                             {"/empty", at::empty({0, 2})}};
  io::write_arrays(folder / "a.h5", arrays, {{"tau", 2}}, {{"reduction", "direct"}});
  std::map<std::string, double> attributes;
  for (const auto& [path, values] : arrays) CHECK(at::equal(io::read_array({folder / "a.h5", path}, &attributes), values));
  CHECK(attributes == std::map<std::string, double>{{"tau", 2}});
}

TEST_CASE("arrays keep their float width and rank, empty ones too, and name the first bad entry") {
  const std::filesystem::path cases = std::filesystem::path(GAUSSFLOW_TEST_DATA) / "cases";
  CHECK(io::read_array({cases / "ker-10-empty-0-4.h5", "q"}).size(0) == 0);
  CHECK(dtype_name(io::read_array({cases / "hdf-06-half.h5", "samples"}).scalar_type()) == "fp32");
  CHECK(dtype_name(io::read_array({cases / "hdf-08-int64.h5", "samples"}).scalar_type()) == "fp64");
  const std::string said = message_of([&] { io::read_array({cases / "ker-15-nan-key.h5", "k"}); });
  CHECK(holds(said, "row 5, column 1"));
  CHECK_THROWS_AS(io::read_array({cases / "hdf-12-virtual.h5", "samples"}), InputError);
  CHECK_THROWS_AS(io::read_array({cases / "hdf-14-bool.h5", "samples"}), InputError);
  std::map<std::string, double> attributes;
  io::read_array({cases / "ker-01-offset.h5", "q"}, &attributes);
  CHECK(attributes.at("tau") == 1.0);
}

TEST_CASE("a file of arrays says what it has, and what a number is that is none") {
  const std::filesystem::path cases = std::filesystem::path(GAUSSFLOW_TEST_DATA) / "cases";
  const io::ArrayFile file(cases / "ker-01-offset.h5");
  CHECK_FALSE(file.archive());
  CHECK(file.has("q"));
  CHECK_FALSE(file.has("w"));
  CHECK(file.number("tau") == 1.0);
  CHECK_FALSE(file.number("sigma").has_value());
  CHECK(at::equal(file.read("q"), io::read_array({cases / "ker-01-offset.h5", "/q"})));
  const Folder folder;
  io::write_arrays(folder / "a.h5", {{"/q", at::zeros({2, 1})}}, {}, {{"tau", "0.5"}});
  const std::string said = message_of([&] { io::ArrayFile(folder / "a.h5").number("tau"); });
  CHECK(holds(said, "is text (0.5), one number is needed"));
}
