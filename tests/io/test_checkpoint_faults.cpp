// What happens to checkpoints when the system fails them.
#include "gaussflow/core/error.hpp"
#include "gaussflow/io/checkpoint.hpp"
#include "gaussflow/io/sample_file.hpp"
#include "gaussflow/io/trajectory.hpp"

#include "io/faults.hpp"
#include "io/support.hpp"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cerrno>

using namespace gaussflow;
using namespace support;
using io::Checkpoint;

TEST_CASE("whichever call fails while a checkpoint is written, the last one stands and nothing half-written stays") {
  const Folder folder;
  Checkpoint old = rich_checkpoint(1);
  io::write_checkpoint(folder.path(), old);
  int injected = 0;
  for (const Call call : {Call::open, Call::write, Call::ftruncate, Call::fallocate, Call::fsync, Call::close, Call::rename})
    for (const int error : {EIO, ENOSPC})
      for (int nth = 1; nth < 1000; ++nth) {
        CAPTURE(name_of(call));
        CAPTURE(error);
        CAPTURE(nth);
        bool fired = false, wrote = false;
        Checkpoint next = rich_checkpoint(2);
        {
          const Fault fault(call, nth, error);
          try {
            io::write_checkpoint(folder.path(), next);
            wrote = true;
          } catch (const IoError&) {
          }
          fired = fault.fired();
        }
        for (const std::string& name : folder.names()) CHECK(name.ends_with(".h5"));
        const io::Found found = io::newest_checkpoint(folder.path());
        CHECK(found.notes.empty());
        CHECK(same(found.checkpoint, found.checkpoint.state.step == 1 ? old : next));
        if (wrote) CHECK(found.checkpoint.state.step == 2);
        std::filesystem::remove(folder / io::checkpoint_name(2));
        if (!fired) {
          CHECK(wrote);
          break;
        }
        ++injected;
      }
  CHECK(injected > 60);
}

TEST_CASE("interrupted and short writes of a checkpoint go on") {
  const Folder folder;
  for (const int error : {EINTR, 0})
    for (int nth = 1; nth < 200; ++nth) {
      Checkpoint written = rich_checkpoint(nth);
      const Fault fault(Call::write, nth, error);
      const auto file = io::write_checkpoint(folder.path(), written);
      CHECK(same(io::read_checkpoint(file), written));
      std::filesystem::remove(file);
      if (!fault.fired()) break;
    }
}

TEST_CASE("a disk that is full from the n-th write on is an error, and the process still ends in order") {
  const Folder folder;
  Checkpoint old = rich_checkpoint(1);
  const auto file = io::write_checkpoint(folder.path(), old);
  const std::string good = bytes_of(file);
  int full = 0;
  for (int nth = 1; nth < 1000; ++nth) {
    CAPTURE(nth);
    const int code = in_child([&] {
      const Fault fault(Call::write, nth, ENOSPC, Lasting::from_then_on);
      Checkpoint next = rich_checkpoint(1);
      try {
        io::write_checkpoint(folder.path(), next);
      } catch (const IoError&) {
        return fault.fired() ? 1 : 3;
      }
      return fault.fired() ? 2 : 0;
    });
    CHECK(folder.names().size() == 1);
    CHECK(bytes_of(file) == good);
    if (code == 0) break;
    CHECK(code == 1);
    ++full;
  }
  CHECK(full > 10);
}

TEST_CASE("lost writes of a trajectory or of samples are errors too") {
  const Folder folder;
  const auto everything_or_error = [&](const std::function<void()>& write, const std::string& name) {
    int failed = 0;
    for (int nth = 1; nth < 1000; ++nth) {
      CAPTURE(name);
      CAPTURE(nth);
      const int code = in_child([&] {
        const Fault fault(Call::write, nth, ENOSPC, Lasting::from_then_on);
        try {
          write();
        } catch (const IoError&) {
          return fault.fired() ? 1 : 3;
        }
        return fault.fired() ? 2 : 0;
      });
      CHECK(folder.names() == (code == 0 ? std::vector<std::string>{name} : std::vector<std::string>{}));
      if (code == 0) break;
      CHECK(code == 1);
      ++failed;
    }
    CHECK(failed > 2);
    std::filesystem::remove(folder / name);
  };
  everything_or_error(
      [&] {
        io::TrajectoryWriter writer(folder.path());
        for (const std::int64_t step : {0, 1, 2}) writer.add({step, 0, at::rand({15000, 2}), {{"mmd2", 1.0}}});
        writer.seal();
      },
      "seg-000000000000.h5");
  everything_or_error(
      [&] {
        io::write_samples(folder / "samples.h5", at::ones({15000, 2}), {}, {"a", "b"}, {});
      },
      "samples.h5");
}

TEST_CASE("a limit on file sizes is an error at any size, and the process still ends in order") {
  const Folder folder;
  Checkpoint old = rich_checkpoint(1);
  const auto file = io::write_checkpoint(folder.path(), old);
  const std::string good = bytes_of(file);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{100}, std::size_t{512}, good.size() / 2, good.size() - 1}) {
    CAPTURE(limit);
    const int code = in_child([&] {
      signal(SIGXFSZ, SIG_IGN);
      const struct rlimit size { limit, limit };
      setrlimit(RLIMIT_FSIZE, &size);
      int refused = 0;
      const auto expect = [&](const std::function<void()>& write) {
        try {
          write();
        } catch (const IoError&) {
          ++refused;
        }
      };
      for (int i = 0; i < 3; ++i) {
        expect([&] {
          Checkpoint next = rich_checkpoint(1);
          io::write_checkpoint(folder.path(), next);
        });
        expect([&] { io::write_samples(folder / "samples.h5", at::ones({15000, 2}), {}, {}, {}); });
        expect([&] {
          io::TrajectoryWriter writer(folder.path());
          writer.add({0, 0, at::rand({15000, 2}), {}});
          writer.seal();
        });
      }
      return refused;
    });
    CHECK(code == 9);
    CHECK(bytes_of(file) == good);
    CHECK(folder.names().size() == 1);
  }
}
