#include "gaussflow/core/error.hpp"
#include "gaussflow/io/checkpoint.hpp"

#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <random>
#include <thread>

using namespace gaussflow;
using namespace support;
using io::Checkpoint;

TEST_CASE("a checkpoint reads back bit for bit, whatever is in its slots") {
  const Folder folder;
  Checkpoint written = rich_checkpoint(12000);
  const auto file = io::write_checkpoint(folder.path(), written);
  CHECK(file.filename() == "ckpt-000000012000.h5");
  const Checkpoint read = io::read_checkpoint(file);
  CHECK(same(written, read));
  CHECK(read.state_sha256 == written.state_sha256);
  CHECK(read.state_sha256 == io::state_digest(written));
  CHECK(folder.names() == std::vector<std::string>{"ckpt-000000012000.h5"});
}

TEST_CASE("a checkpoint of the least there can be reads back: one particle, no weights, no slots, no texts") {
  const Folder folder;
  Checkpoint written;
  written.state.x = at::full({1, 1}, -0.0, at::kDouble);
  const Checkpoint read = io::read_checkpoint(io::write_checkpoint(folder.path(), written));
  CHECK(same(written, read));
  CHECK_FALSE(read.state.log_weights.defined());
  CHECK(std::signbit(read.state.x.item<double>()));
}

TEST_CASE("equal checkpoints are equal bytes") {
  const Folder a, b;
  Checkpoint first = rich_checkpoint(3), second = rich_checkpoint(3);
  CHECK(bytes_of(io::write_checkpoint(a.path(), first)) == bytes_of(io::write_checkpoint(b.path(), second)));
}

TEST_CASE("the state digest covers state, target and fixed keys, and nothing else") {
  const Checkpoint base = rich_checkpoint(5);
  const std::string digest = io::state_digest(base);
  const auto changed = [&](const std::function<void(Checkpoint&)>& change) {
    Checkpoint other = rich_checkpoint(5);
    change(other);
    return io::state_digest(other) != digest;
  };
  CHECK_FALSE(changed([](Checkpoint& c) { c.config += "output: {}\n"; }));
  CHECK_FALSE(changed([](Checkpoint& c) { c.provenance["threads"] = "8"; }));
  CHECK_FALSE(changed([](Checkpoint& c) { c.state.x = c.state.x.t().contiguous().t(); }));  // strides are no content
  CHECK(changed([](Checkpoint& c) { c.fixed += "x"; }));
  CHECK(changed([](Checkpoint& c) { c.target.shape[0] += 1; }));
  CHECK(changed([](Checkpoint& c) { c.target.digest[0] = 'b'; }));
  CHECK(changed([](Checkpoint& c) { c.state.step += 1; }));
  CHECK(changed([](Checkpoint& c) { c.state.time = std::nextafter(c.state.time, 1e9); }));
  CHECK(changed([](Checkpoint& c) { c.state.x = c.state.x.to(at::kDouble); }));
  CHECK(changed([](Checkpoint& c) { c.state.x = c.state.x.view({3, 7}); }));
  CHECK(changed([](Checkpoint& c) { c.state.log_weights = Tensor(); }));
  CHECK(changed([](Checkpoint& c) { c.state.slots.erase("empty"); }));
  CHECK(changed([](Checkpoint& c) {
    c.state.slots["adam.v"] = c.state.slots["adam.m"];
    c.state.slots.erase("adam.m");
  }));
}

TEST_CASE("no flipped bit goes unnoticed") {
  const Folder folder;
  Checkpoint written = rich_checkpoint(12000);
  const auto file = io::write_checkpoint(folder.path(), written);
  const std::string good = bytes_of(file);
  std::mt19937_64 random(1);
  int noticed = 0, silent = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::size_t bit = random() % (8 * good.size());
    flip(file, bit);
    try {
      const Checkpoint read = io::read_checkpoint(file);
      silent += !same(written, read);  // what reads back equal is no loss: the zeros after the seal
    } catch (const CheckpointError&) {
      ++noticed;
    }
    flip(file, bit);
  }
  CHECK(bytes_of(file) == good);
  CHECK(silent == 0);
  CHECK(noticed > 1900);
}

TEST_CASE("a truncated or grown checkpoint is refused") {
  const Folder folder;
  Checkpoint written = rich_checkpoint(1);
  const auto file = io::write_checkpoint(folder.path(), written);
  const std::string good = bytes_of(file);
  for (std::size_t size = 0; size < good.size(); size += size < 1024 ? 16 : 512) {
    set_bytes(file, good.substr(0, size));
    CHECK_THROWS_AS(io::read_checkpoint(file), CheckpointError);
  }
  for (const std::string& bad : {good.substr(0, good.size() - 1), good + '\0', good.substr(0, good.size() / 2)}) {
    set_bytes(file, bad);
    CHECK_THROWS_AS(io::read_checkpoint(file), CheckpointError);
  }
}

TEST_CASE("what is no checkpoint is refused with what it is") {
  const Folder folder;
  const std::filesystem::path cases = std::filesystem::path(GAUSSFLOW_TEST_DATA) / "cases";
  const auto said = [](const std::filesystem::path& file) { return message_of([&] { io::read_checkpoint(file); }); };
  const auto holds = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(holds(said(cases / "mmd-06-target-d2.h5"), "not a gaussflow-checkpoint"));
  CHECK(holds(said(cases / "mmd-06-target-d2.h5"), "/samples [25, 2] fp64"));
  CHECK(holds(said(cases / "hdf-18-text.h5"), "not HDF5 either"));
  CHECK(holds(said(folder / "absent.h5"), "does not exist"));
  CHECK(holds(said(folder.path()), "folder"));
  set_bytes(folder / "empty.h5", "");
  CHECK(holds(said(folder / "empty.h5"), "empty"));
  REQUIRE(mkfifo((folder / "fifo.h5").c_str(), 0600) == 0);
  CHECK(holds(said(folder / "fifo.h5"), "not a regular file"));
  CHECK(holds(said("/dev/zero"), "not a regular file"));
  std::filesystem::create_symlink("loop.h5", folder / "loop.h5");
  CHECK_FALSE(said(folder / "loop.h5").empty());
}

TEST_CASE("a newer format is refused with its version, and no older checkpoint is taken instead") {
  const Folder folder;
  Checkpoint older = rich_checkpoint(1), newer = rich_checkpoint(2);
  io::write_checkpoint(folder.path(), older);
  const auto file = io::write_checkpoint(folder.path(), newer);
  std::string bytes = bytes_of(file);
  const std::string start = "gaussflow-checkpoint ";
  REQUIRE(bytes.starts_with(start + "1\n"));
  bytes[start.size()] = '9';
  set_bytes(file, bytes);
  const std::string message = message_of([&] { io::read_checkpoint(file); });
  CHECK(message.find("version 9") != std::string::npos);
  CHECK_THROWS_AS(io::newest_checkpoint(folder.path()), CheckpointError);
  CHECK(folder.names() == std::vector<std::string>{"ckpt-000000000001.h5", "ckpt-000000000002.h5"});
}

TEST_CASE("a state that is not finite is never written over a good one") {
  const Folder folder;
  Checkpoint good = rich_checkpoint(4);
  const auto file = io::write_checkpoint(folder.path(), good);
  const std::string bytes = bytes_of(file);
  Checkpoint bad = rich_checkpoint(4);
  bad.state.x[2][1] = std::numeric_limits<float>::quiet_NaN();
  const std::string message = message_of([&] { io::write_checkpoint(folder.path(), bad); });
  CHECK(message.find("particle 2 is not finite in coordinate 1 after step 4") != std::string::npos);
  CHECK_THROWS_AS(io::write_checkpoint(folder.path(), bad), NumericalError);
  CHECK(bytes_of(file) == bytes);
  CHECK(folder.names().size() == 1);
}

TEST_CASE("the newest checkpoint is the one of the highest step inside, whatever its name") {
  const Folder folder;
  for (const std::int64_t step : {10, 20, 30}) {
    Checkpoint c = rich_checkpoint(step);
    io::write_checkpoint(folder.path(), c);
  }
  std::filesystem::copy_file(folder / "ckpt-000000000010.h5", folder / "ckpt-000000000099.h5");
  std::filesystem::rename(folder / "ckpt-000000000030.h5", folder / "ckpt-000000000005.h5");
  const io::Found found = io::newest_checkpoint(folder.path());
  CHECK(found.checkpoint.state.step == 30);
  CHECK(found.file.filename() == "ckpt-000000000005.h5");
  CHECK(found.notes.empty());
}

TEST_CASE("a folder that cannot be listed is an error, not a folder without checkpoints") {
  const Folder folder;
  set_bytes(folder / "file", "");
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK(io::list_checkpoints(folder / "absent").empty());
  CHECK_THROWS_AS(io::list_checkpoints(folder / "file"), IoError);
  CHECK_THROWS_AS(io::list_checkpoints(folder / "loop"), IoError);
}

TEST_CASE("bad checkpoints are put aside by who may, passed over by who may not") {
  const Folder folder;
  for (const std::int64_t step : {10, 20, 30}) {
    Checkpoint c = rich_checkpoint(step);
    io::write_checkpoint(folder.path(), c);
  }
  std::string bytes = bytes_of(folder / "ckpt-000000000030.h5");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  set_bytes(folder / "ckpt-000000000030.h5", bytes);
  set_bytes(folder / "ckpt-000000000020.h5", "");
  set_bytes(folder / "ckpt-000000000040.h5.123.part", "half");

  const io::Found looked = io::newest_checkpoint(folder.path(), io::Repair::none);
  CHECK(looked.checkpoint.state.step == 10);
  CHECK(looked.notes.size() == 2);
  CHECK(folder.names().size() == 4);

  const io::Found found = io::newest_checkpoint(folder.path());
  CHECK(found.checkpoint.state.step == 10);
  CHECK(found.notes.size() == 2);
  CHECK(folder.names() ==
        std::vector<std::string>{"ckpt-000000000010.h5", "ckpt-000000000020.h5.bad", "ckpt-000000000030.h5.bad"});
  CHECK(bytes_of(folder / "ckpt-000000000030.h5.bad") == bytes);

  set_bytes(folder / "ckpt-000000000010.h5", "");
  CHECK_THROWS_AS(io::newest_checkpoint(folder.path()), CheckpointError);
  CHECK_THROWS_AS(io::newest_checkpoint(folder / "absent"), CheckpointError);
}

TEST_CASE("killed at any moment, a whole checkpoint is there") {
  const Folder folder;
  Checkpoint first = rich_checkpoint(0, 2000);
  io::write_checkpoint(folder.path(), first);
  std::mt19937 random(7);
  std::int64_t last = 0;
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const pid_t child = fork();
    if (child == 0) {
      for (std::int64_t step = last + 1;; ++step) {
        Checkpoint next = rich_checkpoint(step, 2000);
        io::write_checkpoint(folder.path(), next);
        if (step > last + 2) std::filesystem::remove(folder / io::checkpoint_name(step - 1));  // keep: 1
      }
    }
    // Once it has written one, which stays, it is killed anywhere in the next few.
    while (!std::filesystem::exists(folder / io::checkpoint_name(last + 1))) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const io::Found found = io::newest_checkpoint(folder.path());
    CHECK(found.notes.empty());
    CHECK(found.checkpoint.state.step > last);
    last = found.checkpoint.state.step;
    Checkpoint expected = rich_checkpoint(last, 2000);
    CHECK(same(found.checkpoint, expected));
    for (const std::string& name : folder.names()) CHECK(name.ends_with(".h5"));
  }
}
