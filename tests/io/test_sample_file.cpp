#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/durable.hpp"
#include "gaussflow/io/hdf5.hpp"
#include "gaussflow/io/sample_file.hpp"

#include "io/hdf5_maker.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <limits>

using namespace gaussflow;
using namespace support;
using io::SampleFile;

namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The refusal of FILE:dataset.
std::string refusal(const std::filesystem::path& file, const std::string& dataset, const io::SampleOptions& options = {}) {
  return message_of([&] { io::read_samples({file, dataset}, options); });
}

#define CHECK_REFUSED(file, dataset, ...)                                                                            \
  do {                                                                                                               \
    const std::string said = refusal(file, dataset);                                                                 \
    INFO(said);                                                                                                      \
    CHECK(holds(said, (file).filename().string()));                                                                  \
    for (const char* word : std::initializer_list<const char*>{__VA_ARGS__}) CHECK_MESSAGE(holds(said, word), word); \
  } while (false)

}  // namespace

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

TEST_CASE("links are looked at before they are followed") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.group("/g");
    make.group("/g/deep");
    make.doubles("/g/x", {4, 2});
    H5Lcreate_soft("/g/x", make.id(), "absolute", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("x", make.id(), "g/relative", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/g", make.id(), "group", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/group/relative", make.id(), "twice", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/b", make.id(), "a", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a", make.id(), "b", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/self/x", make.id(), "self", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/gone", make.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(make.id(), "/", make.id(), "/g/deep/up", H5P_DEFAULT, H5P_DEFAULT);  // a circle of hard links
    H5Lcreate_external("/etc/passwd", "/x", make.id(), "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/", make.id(), "folder", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/folder/x", make.id(), "soft_outside", H5P_DEFAULT, H5P_DEFAULT);
    const Handle type(H5Tcopy(H5T_NATIVE_INT), H5Tclose);
    H5Tcommit2(make.id(), "/type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  Maker(folder / "other.h5").doubles("/x", {4, 2});
  for (const char* path :
       {"/g/x", "g/x", "//g//x/", "/absolute", "/g/relative", "/group/x", "/twice", "/g/deep/up/g/x", "./g/./x"})
    CHECK_MESSAGE(io::read_samples({file, path}).samples.size(0) == 4, path);
  CHECK_REFUSED(file, "/a", "circle");
  CHECK_REFUSED(file, "/self", "circle");
  CHECK_REFUSED(file, "/dangling", "soft link to /gone", "/g/x [4, 2] fp64");
  CHECK_REFUSED(file, "/outside", "link out of the file", "/etc/passwd:/x");
  CHECK_REFUSED(file, "/folder/x", "link out of the file", "other.h5:/");
  CHECK_REFUSED(file, "/soft_outside", "link out of the file");
  CHECK_REFUSED(file, "/g", "is a group", "/g/x [4, 2] fp64");
  CHECK_REFUSED(file, "/", "is a group");
  CHECK_REFUSED(file, "/g/x/y", "is not a group");
  CHECK_REFUSED(file, "/type", "not a dataset");
  CHECK_REFUSED(file, "/g/z", "is not there", "'x'");
  CHECK(io::read_samples({file, ""}).dataset == "/g/x");  // the only one, whatever leads there
}

TEST_CASE("only data in the file itself, whole and readable, are read") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    Handle external(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_external(external, "/etc/passwd", 0, H5F_UNLIMITED);
    make.dataset("/external", {4, 2}, H5T_STD_U8LE, H5T_NATIVE_DOUBLE, nullptr, external);
    make.dataset("/never", {4, 2}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, nullptr);
    make.dataset("/never_chunked", {4, 2}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, nullptr, chunked({2, 2}));
    Handle compact(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_layout(compact, H5D_COMPACT);
    make.doubles("/compact", {4, 2}, {}, compact);
    // Rows 0-2 and 9-10 of 11, in chunks of 3 x 2 over 5 columns; then all but one corner.
    for (const auto& [path, ranges] :
         std::map<std::string, std::vector<std::array<hsize_t, 4>>>{{"/partly", {{0, 3, 0, 5}, {9, 2, 0, 5}}},
                                                                    {"/corner", {{0, 9, 0, 5}, {9, 2, 0, 4}}},
                                                                    {"/all", {{0, 11, 0, 5}}}}) {
      make.dataset(path, {11, 5}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, nullptr, chunked({3, 2}));
      const Handle dataset(H5Dopen2(make.id(), path.c_str(), H5P_DEFAULT), H5Dclose), space(H5Dget_space(dataset), H5Sclose);
      for (const auto& range : ranges) {
        const std::array<hsize_t, 2> start{range[0], range[2]}, count{range[1], range[3]};
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
        const std::vector<double> values(count[0] * count[1], 1.0);
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, gaussflow::io::hdf5::dataspace(2, count.data()), space, H5P_DEFAULT,
                 values.data());
      }
    }
  }
  CHECK_REFUSED(file, "/external", "another file", "/etc/passwd");
  CHECK_REFUSED(file, "/never", "[4, 2]", "never written");
  CHECK_REFUSED(file, "/never_chunked", "4 of 4 rows", "never written");
  CHECK_REFUSED(file, "/partly", "6 of 11 rows", "never written");
  CHECK_REFUSED(file, "/corner", "2 of 11 rows", "never written");
  CHECK(io::read_samples({file, "/all"}).samples.size(0) == 11);
  CHECK(io::read_samples({file, "/compact"}).samples.size(0) == 4);
}

TEST_CASE("damage that a checksum tells is an error, and the standard filters are read") {
  const Folder folder;
  const auto file = folder / "a.h5";
  std::vector<double> values(400);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sqrt(static_cast<double>(i));
  {
    Maker make(file);
    Handle properties = chunked({50, 2});
    H5Pset_shuffle(properties);
    H5Pset_deflate(properties, 6);
    H5Pset_fletcher32(properties);
    make.doubles("/x", {200, 2}, values, properties);
  }
  CHECK(to_vector(io::read_samples({file, "/x"}).samples) == values);
  std::string bytes = bytes_of(file);
  bytes[bytes.size() - 200] = static_cast<char>(bytes[bytes.size() - 200] ^ 16);
  set_bytes(file, bytes);
  CHECK_REFUSED(file, "/x", "damaged");
}

TEST_CASE("declared sizes are checked before anything is allocated") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    Handle properties = chunked({1024, 1024});
    H5Pset_deflate(properties, 1);
    make.dataset("/huge", {hsize_t{1} << 30, 1 << 20}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, nullptr, properties);
    make.dataset("/overflow", {hsize_t{1} << 40, hsize_t{1} << 40}, H5T_STD_U8LE, H5T_NATIVE_DOUBLE, nullptr, properties);
    make.dataset("/contiguous", {hsize_t{1} << 40, 2}, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, nullptr);
  }
  for (const char* path : {"/huge", "/overflow", "/contiguous"}) {
    CHECK_THROWS_AS(io::read_samples({file, path}), DeviceError);
    CHECK_THROWS_AS(io::read_array({file, path}), DeviceError);
    CHECK_REFUSED(file, path, "shape [", "of memory are free");
  }
}

TEST_CASE("what is no plain number is refused with what would do") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    const std::vector<double> values(16, 1.0);
    const std::vector<unsigned char> bytes(64, 1);
    const hsize_t three = 3;
    Handle array(H5Tarray_create2(H5T_IEEE_F64LE, 1, &three), H5Tclose);
    make.dataset("/array", {2}, array, array, values.data());
    make.dataset("/bits", {4, 2}, H5T_STD_B8LE, H5T_NATIVE_B8, bytes.data());
    Handle labels(H5Tenum_create(H5T_NATIVE_INT), H5Tclose);
    for (const int value : {0, 1}) H5Tenum_insert(labels, value == 0 ? "red" : "blue", &value);
    make.dataset("/labels", {4, 2}, labels, labels, values.data());
    make.doubles("/cube", {2, 3, 4});
    make.doubles("/packed", {4, 2});
    make.number_attribute("/packed", "scale_factor", 0.01);
    make.doubles("/unpacked", {4, 2});
    make.number_attribute("/unpacked", "scale_factor", 1);
    make.number_attribute("/unpacked", "add_offset", 0);
    make.doubles("/marked", {4, 2}, {0, 1, -999, 3, 4, -999, 6, 7});
    make.number_attribute("/marked", "missing_value", -999);
    make.doubles("/infinite", {2, 2}, {0, 1, 2, std::numeric_limits<double>::infinity()});
    make.doubles("/nothing", {2, 1}, {3, 0});
    make.text_attribute("/nothing", "MATLAB_class", "double");
    make.number_attribute("/nothing", "MATLAB_empty", 1);
  }
  CHECK_REFUSED(file, "/array", "small arrays");
  CHECK_REFUSED(file, "/bits", "bit fields");
  CHECK_REFUSED(file, "/labels", "enumeration of red, blue");
  CHECK_REFUSED(file, "/cube", "[2, 3, 4]", "reshape");
  CHECK_REFUSED(file, "/packed", "scale_factor = 0.01");
  CHECK(io::read_samples({file, "/unpacked"}).samples.size(0) == 4);
  CHECK_REFUSED(file, "/marked", "2 of 4 rows", "row 1", "missing_value = -999");
  CHECK_REFUSED(file, "/infinite", "1 of 2 rows", "row 1");
  CHECK_REFUSED(file, "/nothing", "empty MATLAB array");
  CHECK(io::read_array({file, "/cube"}).dim() == 3);
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
    make.doubles("/cube", {3, 2, 2});
    make.doubles("/scalar", {});
  }
  CHECK(io::read_samples({file, ""}).dataset == "/x");
  {
    Maker make(file);
    make.doubles("/x", {3, 2});
    make.group("/g");
    make.doubles("/g/y", {5});
  }
  CHECK_REFUSED(file, "", "2 datasets", "/x [3, 2] fp64", "/g/y [5] fp64");
  { Maker make(file); }
  CHECK_REFUSED(file, "", "no dataset");
  io::Checkpoint checkpoint = rich_checkpoint(3);
  const auto written = io::write_checkpoint(folder.path(), checkpoint);
  CHECK_REFUSED(written, "", "gaussflow-checkpoint", "no /samples", "/state/particles");
  CHECK(io::read_samples({written, "/state/particles"}).samples.size(0) == 7);
}

TEST_CASE("what is no regular file is refused at once") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_REFUSED(folder / "fifo", "/x", "not a regular file");
  CHECK(holds(refusal("/dev/zero", "/x"), "not a regular file"));
  CHECK(holds(refusal(folder.path(), "/x"), "folder"));
  io::write_samples(folder / "moons.h5", at::ones({2, 2}), {}, {}, {});
  CHECK_REFUSED(folder / "mons.h5", "/x", "does not exist", "did you mean 'moons.h5'");
  set_bytes(folder / "table.npz", std::string("PK\x03\x04", 4) + std::string(100, '\0'));
  CHECK_REFUSED(folder / "table.npz", "", "npz");
}

TEST_CASE("another process's lock on the file does not keep us from reading") {
  const Folder folder;
  io::write_samples(folder / "a.h5", at::ones({2, 2}), {}, {}, {});
  const io::Descriptor held = io::open_regular(folder / "a.h5");
  REQUIRE(flock(held.value(), LOCK_EX) == 0);
  CHECK(io::read_samples({folder / "a.h5", ""}).samples.size(0) == 2);
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
