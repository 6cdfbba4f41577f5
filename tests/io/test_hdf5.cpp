#include "gaussflow/core/error.hpp"
#include "gaussflow/io/hdf5.hpp"

#include "io/hdf5_maker.hpp"
#include "io/refusal.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <map>

using namespace gaussflow;
using namespace support;

TEST_CASE("a listing tells every object, its type, and why it cannot be samples") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.group("/g");
    make.doubles("/g/x", {100, 2}, {}, chunked({10, 2}));
    make.number_attribute("/g/x", "unit", 0.5);
    make.text_attribute("/", "author", "me");
    make.doubles("/cube", {2, 2, 2});
    H5Lcreate_hard(make.id(), "/g/x", make.id(), "/same", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(make.id(), "/", make.id(), "/g/up", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/g/x", make.id(), "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/x", make.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
  }
  const io::Hdf5Listing listing = io::list_hdf5(file);
  using Kind = io::Hdf5Entry::Kind;
  std::map<std::string, io::Hdf5Entry> by_path;
  for (const auto& entry : listing.entries) by_path[entry.path] = entry;
  CHECK(listing.complete);
  CHECK(by_path.size() == 6);
  CHECK(by_path["/"].attributes.at(0).value == "me");
  CHECK(by_path["/g/x"].shape == std::vector<std::int64_t>{100, 2});
  CHECK(by_path["/g/x"].type == "fp64");
  CHECK(by_path["/g/x"].storage == "chunks [10, 2]");
  CHECK(by_path["/g/x"].refusal.empty());
  CHECK(by_path["/g/x"].attributes.at(0).value == "0.5");
  CHECK(holds(by_path["/cube"].refusal, "[2, 2, 2]"));
  CHECK((by_path["/soft"].kind == Kind::soft_link));
  CHECK(by_path["/soft"].target == "/g/x");
  CHECK((by_path["/outside"].kind == Kind::outside_link));
  CHECK(by_path["/outside"].target == "other.h5:/x");
  CHECK_FALSE(io::list_hdf5(file, 2).complete);

  const std::filesystem::path cases = std::filesystem::path(GAUSSFLOW_TEST_DATA) / "cases";
  int listed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cases)) {
    CAPTURE(entry.path().string());
    try {
      listed += !io::list_hdf5(entry.path()).entries.empty();
    } catch (const InputError&) {
    }
  }
  CHECK(listed == 83);  // all but a text, a truncated file, one marked as open, and the manifest
  CHECK(holds(io::list_hdf5(cases / "hdf-20-latest-format.h5").entries.at(1).refusal, "newer"));
}
