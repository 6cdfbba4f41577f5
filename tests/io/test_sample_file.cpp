#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/io/array_file.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/io/verify.hpp"

#include "io/hdf5_maker.hpp"
#include "io/refusal.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <limits>

using namespace gaussflow;
using namespace support;
using io::SampleFile;

TEST_CASE("samples written are samples read, with weights and names") {
  const Folder folder;
  const Tensor samples = normal({1, Stream::data, 0}, 20, 3), weights = uniform({2, Stream::data, 0}, 20, 1).view({-1});
  io::write_samples(folder / "a.h5", samples, weights, {"alpha", "β", "c d"},
                    {.texts = {{"flow", "mmd"}}, .numbers = {{"tau", 0.25}}});
  const SampleFile read = io::read_samples({folder / "a.h5", ""}, {.weights = "/weights"});
  CHECK(at::equal(read.samples, samples));
  CHECK(at::equal(read.weights, weights));
  CHECK(read.names == std::vector<std::string>{"alpha", "β", "c d"});
  CHECK(read.dataset == "/samples");
  CHECK(read.notes.empty());
  std::map<std::string, double> attributes;
  CHECK(at::equal(io::read_array({folder / "a.h5", "/samples"}, &attributes), samples));
  CHECK(attributes == std::map<std::string, double>{{"tau", 0.25}});
  CHECK(folder.names().size() == 1);
}

TEST_CASE("weights beside samples that are not asked for are said, unless they are equal") {
  const Folder folder;
  io::write_samples(folder / "a.h5", at::ones({3, 1}, at::kDouble), at::arange(1, 4, at::kDouble), {}, {});
  io::write_samples(folder / "b.h5", at::ones({3, 1}, at::kDouble), {}, {}, {});
  const auto notes = io::read_samples({folder / "a.h5", ""}).notes;
  REQUIRE(notes.size() == 1);
  CHECK(holds(notes[0], "/weights"));
  CHECK(io::read_samples({folder / "b.h5", ""}).notes.empty());
  io::write_samples(folder / "c.h5", at::ones({3, 1}, at::kDouble), at::arange(-1, 2, at::kDouble), {}, {});
  CHECK(io::read_samples({folder / "c.h5", ""}).notes.empty());  // no weights at all
}

TEST_CASE("the digest is of the data, not of the file") {
  const Folder folder;
  const Tensor samples = at::arange(12, at::kDouble).view({6, 2});
  io::write_samples(folder / "a.h5", samples, {}, {}, {});
  Maker(folder / "b.h5").dataset("/other", {6, 2}, H5T_STD_I16BE, H5T_NATIVE_DOUBLE, samples.const_data_ptr());
  const std::string digest = io::read_samples({folder / "a.h5", ""}).digest;
  CHECK(io::read_samples({folder / "b.h5", "/other"}).digest == digest);
  CHECK(io::read_samples({folder / "a.h5", ""}, {.weights = "/weights"}).digest != digest);
  io::write_samples(folder / "c.h5", samples.view({4, 3}), {}, {}, {});
  CHECK(io::read_samples({folder / "c.h5", ""}).digest != digest);
  io::write_samples(folder / "d.h5", samples + 1e-12, {}, {}, {});
  CHECK(io::read_samples({folder / "d.h5", ""}).digest != digest);
}

TEST_CASE("every width and byte order of real numbers reads exactly") {
  const Folder folder;
  const std::vector<double> values{0, 1, -1, 100, -128, 127};
  Handle half(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  Handle big_half(H5Tcopy(half), H5Tclose);
  H5Tset_order(big_half, H5T_ORDER_BE);
  const std::vector<hid_t> types{H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE,     H5T_IEEE_F64BE, H5T_STD_I8LE,
                                 H5T_STD_I8BE,   H5T_STD_I16LE,  H5T_STD_I16BE,      H5T_STD_I32LE,  H5T_STD_I32BE,
                                 H5T_STD_I64LE,  H5T_STD_I64BE,  H5T_NATIVE_LDOUBLE, half,           big_half};
  for (std::size_t i = 0; i < types.size(); ++i) {
    CAPTURE(i);
    Maker(folder / "a.h5").dataset("/x", {3, 2}, types[i], H5T_NATIVE_DOUBLE, values.data());
    CHECK(to_vector(io::read_samples({folder / "a.h5", ""}).samples) == values);
    CHECK(to_vector(io::read_array({folder / "a.h5", "/x"})) == values);
  }
}

TEST_CASE("integers are exact in fp64 or refused") {
  const Folder folder;
  const auto file = folder / "a.h5";
  const std::array<std::int64_t, 4> exact{std::int64_t{1} << 53, -(std::int64_t{1} << 53),
                                          std::numeric_limits<std::int64_t>::min(),
                                          (std::int64_t{1} << 62) + (std::int64_t{1} << 10)};
  Maker(file).dataset("/x", {4, 1}, H5T_STD_I64LE, H5T_NATIVE_INT64, exact.data());
  const Tensor read = io::read_samples({file, "/x"}).samples;
  for (std::size_t i = 0; i < exact.size(); ++i)
    CHECK(static_cast<std::int64_t>(read[static_cast<std::int64_t>(i)].item<double>()) == exact[i]);
  for (const std::int64_t value :
       {(std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1, std::numeric_limits<std::int64_t>::max()}) {
    Maker(file).dataset("/x", {1, 1}, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
    CHECK(holds(refusal(file, "/x"), std::to_string(value)));
  }
  const std::uint64_t exact_unsigned = std::uint64_t{1} << 63, most = std::numeric_limits<std::uint64_t>::max();
  Maker(file).dataset("/x", {1, 1}, H5T_STD_U64BE, H5T_NATIVE_UINT64, &exact_unsigned);
  CHECK(io::read_samples({file, "/x"}).samples.item<double>() == 0x1p63);
  Maker(file).dataset("/x", {1, 1}, H5T_STD_U64LE, H5T_NATIVE_UINT64, &most);
  CHECK_REFUSED(file, "/x", "18446744073709551615");
}

TEST_CASE("numbers that fp32 particles would round are noted, beyond its range refused") {
  const Folder folder;
  const auto file = folder / "a.h5";
  Maker(file).doubles("/x", {2, 1}, {16777216, 16777217});
  const auto notes = io::read_samples({file, "/x"}).notes;
  REQUIRE(notes.size() == 1);
  CHECK(holds(notes[0], "2^24"));
  Maker(file).doubles("/x", {3, 1}, {0, 1e39, -1e300});
  CHECK_REFUSED(file, "/x", "2 of 3 rows", "row 1", "3.4e38");
  Maker(file).doubles("/x", {1, 1}, {3.4e38});
  CHECK(io::read_samples({file, "/x"}).samples.item<double>() == 3.4e38);
}

TEST_CASE("axes: transposed on request, MATLAB's reversed, look-alikes only noted") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.doubles("/x", {2, 5});
    make.doubles("/matlab", {2, 5});
    make.text_attribute("/matlab", "MATLAB_class", "single");
    make.doubles("/cube", {2, 3, 4});
    make.text_attribute("/cube", "MATLAB_class", "double");
  }
  const Tensor stored = at::arange(10, at::kDouble).view({2, 5});
  const SampleFile plain = io::read_samples({file, "/x"});
  CHECK(at::equal(plain.samples, stored));
  REQUIRE(plain.notes.size() == 1);
  CHECK(holds(plain.notes[0], "target.transpose: true"));
  const SampleFile turned = io::read_samples({file, "/x"}, {.transpose = true});
  CHECK(at::equal(turned.samples, stored.t()));
  CHECK(turned.notes.empty());
  CHECK(turned.samples.is_contiguous());
  const SampleFile matlab = io::read_samples({file, "/matlab"});
  CHECK(at::equal(matlab.samples, stored.t()));
  CHECK(holds(matlab.notes.at(0), "[5, 2]"));
  CHECK(at::equal(io::read_samples({file, "/matlab"}, {.transpose = true}).samples, stored));
  CHECK(at::equal(io::read_array({file, "/cube"}), at::arange(24, at::kDouble).view({2, 3, 4}).permute({2, 1, 0})));
}

TEST_CASE("weights must fit the samples and be weights") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.doubles("/x", {3, 2});
    make.doubles("/good", {3}, {0, 1, 2});
    make.doubles("/column", {3, 1}, {0, 1, 2});
    make.doubles("/short", {2}, {1, 1});
    make.doubles("/square", {3, 2});
    make.doubles("/negative", {3}, {1, -1, 1});
    make.doubles("/nan", {3}, {1, std::nan(""), 1});
    make.doubles("/zero", {3}, {0, 0, 0});
  }
  const auto said = [&](const std::string& weights) { return refusal(file, "/x", {.weights = weights}); };
  CHECK(to_vector(io::read_samples({file, "/x"}, {.weights = "/good"}).weights) == std::vector<double>{0, 1, 2});
  CHECK(io::read_samples({file, "/x"}, {.weights = "column"}).weights.dim() == 1);
  CHECK(holds(said("/short"), "2 weights for 3 samples"));
  CHECK(holds(said("/square"), "[3, 2]"));
  CHECK(holds(said("/negative"), "-1 at index 1"));
  CHECK(holds(said("/nan"), "index 1"));
  CHECK(holds(said("/zero"), "sum"));
  CHECK(holds(said("/goof"), "did you mean 'good'"));
}

TEST_CASE("without a dataset: /samples, the only candidate, or a list") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.doubles("/x", {3, 2});
    make.doubles("/scalar", {});
  }
  CHECK(io::read_samples({file, ""}).dataset == "/x");
  {
    Maker make(file);
    make.doubles("/chain", {3, 2, 2});
    make.doubles("/log_prob", {3, 2});
  }
  CHECK_REFUSED(file, "", "2 datasets", "/chain [3, 2, 2] fp64", "/log_prob [3, 2] fp64");
  {
    Maker make(file);
    make.doubles("/x", {3, 2});
    make.group("/g");
    make.doubles("/g/y", {5});
  }
  CHECK_REFUSED(file, "", "2 datasets", "/x [3, 2] fp64", "/g/y [5] fp64");
  {
    Maker make(file);
    make.doubles("/x", {3, 2});
    H5Lcreate_soft("/gone", make.id(), "samples", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/gone", make.id(), "names", H5P_DEFAULT, H5P_DEFAULT);
  }
  CHECK_REFUSED(file, "", "/samples is a soft link");  // not quietly the other one
  CHECK(io::has_dataset(file, "/samples"));
  CHECK_FALSE(io::has_dataset(file, "/sample"));
  CHECK_FALSE(io::has_dataset(file, "/a/b"));
  CHECK(io::read_samples({file, "/x"}).names.empty());
  {
    Maker make(file);
    make.group("/samples");
    make.doubles("/samples/x", {3, 2});
  }
  CHECK(io::read_samples({file, ""}).dataset == "/samples/x");
  { Maker make(file); }
  CHECK_REFUSED(file, "", "no dataset");
  io::Checkpoint checkpoint = rich_checkpoint(3);
  const auto written = io::write_checkpoint(folder.path(), checkpoint);
  CHECK_REFUSED(written, "", "gaussflow-checkpoint", "no /samples", "/state/particles");
  CHECK(io::read_samples({written, "/state/particles"}).samples.size(0) == 7);
}

/// Bytes that this process has read so far.
double bytes_read() {
  std::ifstream in("/proc/self/io");
  std::string name;
  double bytes = -1;
  in >> name >> bytes;
  return name == "rchar:" ? bytes : -1;
}

TEST_CASE("verifying reads a file once for its seal and once for its numbers, however many arrays it has") {
  const Folder folder;
  const auto file = folder / "a.h5";
  io::write_samples(file, at::ones({50000, 4}, at::kDouble), {}, {}, {});
  const double before = bytes_read();
  REQUIRE(before >= 0);
  CHECK(io::verify_file(file).verified == std::vector<std::string>{"seal", "/samples", "/weights"});
  CHECK((bytes_read() - before) / static_cast<double>(std::filesystem::file_size(file)) < 2.2);
}
