#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/io/durable.hpp"
#include "gaussflow/io/sample_file.hpp"

#include "io/crash_guard.hpp"
#include "io/hdf5_maker.hpp"
#include "io/refusal.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <ctime>
#include <functional>
#include <limits>
#include <map>

using namespace gaussflow;
using namespace support;

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
  CHECK_REFUSED(file, "/g/X", "is not there", "'x'");
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

TEST_CASE("what is no regular file is refused at once") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_REFUSED(folder / "fifo", "/x", "not a regular file");
  CHECK(holds(refusal("/dev/zero", "/x"), "not a regular file"));
  CHECK(holds(refusal(folder.path(), "/x"), "folder"));
  io::write_samples(folder / "moons.h5", at::ones({2, 2}), {}, {}, {});
  CHECK_REFUSED(folder / "mons.h5", "/x", "does not exist", "did you mean '", "/moons.h5'?");
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

/// Exit code of `read` in a process of its own, what it says in `said`, under a guard of 0.2 s of processor time.
int guarded(const std::filesystem::path& file, std::string& said, const std::function<void()>& read) {
  const std::filesystem::path heard = file.string() + ".stderr";
  const int code = in_child([&] {
    dup2(open(heard.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
    const io::CrashGuard guard(file, 0.2);
    read();
    return 0;
  });
  said = bytes_of(heard);
  return code;
}

TEST_CASE("a reading without end is an error about the file, waiting and long data are not") {
  const Folder folder;
  const auto file = folder / "a.h5";
  Maker(file).doubles("/x", {4, 2});
  std::string said;
  volatile bool forever = true;
  CHECK(guarded(file, said, [&] {
          const io::CrashGuard inner(folder / "inner.h5");
          while (forever) {
          }
        }) == static_cast<int>(ExitCode::input));
  CHECK_MESSAGE(
      said == "gaussflow: " + file.string() +
                  ": the HDF5 library came to no end in reading it, in 0.2 s of processor time; the file is damaged, "
                  "copy or download it again. If h5dump can read it, h5repack makes a sound copy\n",
      said);
  CHECK(guarded(file, said, [&] {
          usleep(500'000);
          io::CrashGuard::expect(1e9);
          for (const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 2; std::clock() < end;) {
          }
          io::read_samples({file, "/x"});
        }) == 0);
  CHECK(said.empty());
}

TEST_CASE("a heap of texts that leads HDF5 in a circle is refused, or read where its library sees through it") {
  const Folder folder;
  const auto file = folder / "a.h5";
  {
    Maker make(file);
    make.doubles("/x", {20, 2});
    const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text, H5T_VARIABLE);
    const std::array names{"a", "b"};
    make.dataset("/names", {2}, text, text, names.data());
  }
  const std::size_t heap = bytes_of(file).find("GCOL");
  REQUIRE(heap != std::string::npos);
  flip(file, 8 * (heap + 24));  // the length of the first text, 1 -> 0: 1.10.8 takes what follows for an object of no bytes
  std::string said;
  const int code = guarded(file, said, [&] { io::read_samples({file, "/x"}); });
  CHECK((code == 0 || (code == 4 && holds(said, "came to no end"))));
}

TEST_CASE("a flipped bit in the numbers of our own file is found") {
  const Folder folder;
  const auto file = folder / "a.h5";
  const Tensor samples = normal({1, Stream::data, 0}, 20, 3), weights = uniform({2, Stream::data, 0}, 20, 1).view({-1});
  io::write_samples(file, samples.to(at::kFloat), weights, {}, {});
  const std::string bytes = bytes_of(file);
  const auto offset = [&](const Tensor& values) {
    return bytes.find(std::string(static_cast<const char*>(values.const_data_ptr()), values.nbytes()));
  };
  const std::size_t of_samples = offset(samples.to(at::kFloat)), of_weights = offset(weights);
  REQUIRE(of_samples != std::string::npos);
  REQUIRE(of_weights != std::string::npos);
  flip(file, 8 * of_samples + 100);
  CHECK_REFUSED(file, "/samples", "damaged", "seal");
  // Without its seal, as a program that copies HDF5 objects leaves it.
  set_bytes(file, bytes_of(file).substr(512));
  CHECK_REFUSED(file, "/samples", "damaged", "gaussflow_sha256");
  set_bytes(file, bytes);
  flip(file, 8 * of_weights + 5);
  CHECK(holds(refusal(file, "/samples", {.weights = "/weights"}), "damaged"));
  flip(file, 8 * of_weights + 5);
  CHECK(at::equal(io::read_samples({file, "/samples"}).samples, samples.to(at::kFloat).to(at::kDouble)));
}
