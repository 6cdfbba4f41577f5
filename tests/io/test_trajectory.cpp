#include "gaussflow/core/error.hpp"
#include "gaussflow/core/random.hpp"
#include "gaussflow/io/trajectory.hpp"

#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace gaussflow;
using namespace support;
using io::Frame;

namespace {

Frame frame(std::int64_t step) {
  return {step,
          0.1 * static_cast<double>(step),
          normal({1, Stream::noise, static_cast<std::uint64_t>(step)}, 50, 3).to(at::kFloat),
          {{"mmd2", 1.0 / static_cast<double>(step + 1)}, {"energy", std::numeric_limits<double>::quiet_NaN()}}};
}

bool same(const Frame& a, const Frame& b) {
  return a.step == b.step && a.time == b.time && at::equal(a.position, b.position) &&
         a.observables.size() == b.observables.size() && a.observables.at("mmd2") == b.observables.at("mmd2") &&
         std::isnan(b.observables.at("energy"));
}

bool same(const std::vector<Frame>& a, const std::vector<Frame>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}

std::vector<Frame> write(const std::filesystem::path& folder, const std::vector<std::int64_t>& steps) {
  io::TrajectoryWriter writer(folder);
  std::vector<Frame> frames;
  for (const std::int64_t step : steps) frames.push_back(frame(step));
  for (const Frame& f : frames) writer.add(f);
  writer.seal();
  writer.seal();  // nothing collected, nothing written
  return frames;
}

}  // namespace

TEST_CASE("a segment reads back bit for bit and leaves nothing else") {
  const Folder folder;
  const auto frames = write(folder.path(), {0, 10, 20});
  CHECK(folder.names() == std::vector<std::string>{"seg-000000000000.h5"});
  CHECK(same(io::read_segment(folder / "seg-000000000000.h5"), frames));
}

TEST_CASE("frames of one segment are of one kind, in order") {
  io::TrajectoryWriter writer("unused");
  writer.add(frame(10));
  CHECK_THROWS(writer.add(frame(10)));
  Frame other = frame(20);
  other.position = other.position.to(at::kDouble);
  CHECK_THROWS(writer.add(other));
  other = frame(20);
  other.observables.erase("mmd2");
  CHECK_THROWS(writer.add(other));
  other = frame(20);
  other.observables = {{"a/b", 1.0}};
  CHECK_THROWS(writer.add(other));
  CHECK(writer.size() == 1);
}

TEST_CASE("no flipped bit in a segment gives another value") {
  const Folder folder;
  const auto frames = write(folder.path(), {0, 10, 20});
  const auto file = folder / "seg-000000000000.h5";
  const std::string good = bytes_of(file);
  std::mt19937_64 random(2);
  int silent = 0, noticed = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bit = random() % (8 * good.size());
    flip(file, bit);
    try {
      silent += !same(io::read_segment(file), frames);
    } catch (const InputError&) {
      ++noticed;
    }
    flip(file, bit);
  }
  CHECK(bytes_of(file) == good);
  CHECK(silent == 0);
  CHECK(noticed > 1800);
  for (std::size_t size = 0; size < good.size(); size += 512) {
    set_bytes(file, good.substr(0, size));
    CHECK_THROWS_AS(io::read_segment(file), InputError);
  }
}

TEST_CASE("truncation drops what lies beyond the step and cuts the segment that straddles it") {
  const Folder folder;
  write(folder.path(), {0, 10, 20});
  const auto frames = write(folder.path(), {30, 40, 50});
  write(folder.path(), {60, 70});
  set_bytes(folder / "seg-000000000080.h5.7.part", "half");
  const std::string first = bytes_of(folder / "seg-000000000000.h5");

  CHECK(io::truncate_trajectory(folder.path(), 1000).empty());
  CHECK(folder.names() == std::vector<std::string>{"seg-000000000000.h5", "seg-000000000030.h5", "seg-000000000060.h5"});
  CHECK(io::truncate_trajectory(folder.path(), 40).empty());
  CHECK(folder.names() == std::vector<std::string>{"seg-000000000000.h5", "seg-000000000030.h5"});
  CHECK(bytes_of(folder / "seg-000000000000.h5") == first);
  CHECK(same(io::read_segment(folder / "seg-000000000030.h5"), {frames[0], frames[1]}));
  CHECK(io::truncate_trajectory(folder.path(), 29).empty());
  CHECK(folder.names() == std::vector<std::string>{"seg-000000000000.h5"});
  CHECK(io::list_segments(folder.path()).size() == 1);
  CHECK(io::truncate_trajectory(folder / "absent", 5).empty());
}

TEST_CASE("a damaged segment that has to be cut is put aside") {
  const Folder folder;
  write(folder.path(), {0, 10, 20});
  std::string bytes = bytes_of(folder / "seg-000000000000.h5");
  bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
  set_bytes(folder / "seg-000000000000.h5", bytes);
  CHECK(io::truncate_trajectory(folder.path(), 10).size() == 1);
  CHECK(folder.names() == std::vector<std::string>{"seg-000000000000.h5.bad"});
}

TEST_CASE("when sealing fails the frames stay collected") {
  const Folder folder;
  io::TrajectoryWriter writer(folder / "absent");
  writer.add(frame(0));
  CHECK_THROWS_AS(writer.seal(), IoError);
  CHECK(writer.size() == 1);
  std::filesystem::create_directory(folder / "absent");
  writer.seal();
  CHECK(writer.size() == 0);
  CHECK(io::read_segment(folder / "absent" / "seg-000000000000.h5").size() == 1);
}
