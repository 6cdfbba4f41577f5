#include "gaussflow/core/error.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/faults.hpp"
#include "io/refusal.hpp"
#include "io/support.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <thread>

using namespace gaussflow;
using namespace support;

TEST_CASE("a text is replaced whole") {
  const Folder folder;
  const auto file = folder / "status.json";
  io::write_text(file, "old");
  io::write_text(file, "");
  CHECK(io::read_text(file) == "");
  const std::string long_text(1 << 20, 'x');
  io::write_text(file, long_text);
  CHECK(io::read_text(file) == long_text);
  CHECK(folder.names() == std::vector<std::string>{"status.json"});
  const auto longest = folder / (std::string(252, 'n') + ".h5");
  io::write_text(longest, "x");
  CHECK(io::read_text(longest) == "x");
}

TEST_CASE("reading text: absent, too long, not regular") {
  const Folder folder;
  CHECK_FALSE(io::read_text(folder / "absent").has_value());
  io::write_text(folder / "a", "12345");
  CHECK(io::read_text(folder / "a", 5) == "12345");
  CHECK_THROWS_AS(io::read_text(folder / "a", 4), InputError);
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_AS(io::read_text(folder / "fifo"), InputError);
  CHECK_THROWS_AS(io::read_text("/dev/zero"), InputError);
  CHECK_THROWS_AS(io::read_text(folder.path()), InputError);
}

TEST_CASE("only regular files are replaced") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_AS(io::write_text(folder / "fifo", "x"), IoError);
  CHECK_THROWS_AS(io::write_text("/dev/null", "x"), IoError);
  CHECK_THROWS_AS(io::write_text(folder.path(), "x"), IoError);
  CHECK_THROWS_AS(io::write_text(folder / "absent/file", "x"), IoError);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK(folder.names() == std::vector<std::string>{"fifo"});
}

TEST_CASE("when the writer throws, the old file stands and no temporary file stays") {
  const Folder folder;
  const auto file = folder / "a";
  io::write_text(file, "old");
  CHECK_THROWS_AS(io::replace_file(file, [](const auto&) { throw NumericalError("no"); }), NumericalError);
  CHECK(io::read_text(file) == "old");
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("whichever call fails, the old file stands, and a failed fsync is never followed by a rename") {
  const Folder folder;
  const auto file = folder / "a";
  for (const Call call : {Call::open, Call::write, Call::ftruncate, Call::fsync, Call::close, Call::rename})
    for (const int error : {EIO, ENOSPC})
      for (int nth = 1; nth < 100; ++nth) {
        io::write_text(file, "old");
        std::string said;
        bool fired = false;
        {
          const Fault fault(call, nth, error);
          said = message_of([&] { io::write_text(file, "new"); });
          fired = fault.fired();
        }
        CAPTURE(name_of(call));
        CAPTURE(nth);
        if (!fired) {
          CHECK(nth > 1);
          CHECK(io::read_text(file) == "new");
          break;
        }
        CHECK(folder.names() == std::vector<std::string>{"a"});
        const std::string now = *io::read_text(file);
        // After the rename only the folder's own opening, fsync and close are left; the new file is whole then.
        if (now == "old")
          CHECK(holds(said, file.string()));
        else
          CHECK((now == "new" && (call == Call::fsync || call == Call::open || call == Call::close) && nth > 1));
      }
}

TEST_CASE("interrupted and short writes go on") {
  const Folder folder;
  const std::string text(100000, 'x');
  for (const Call call : {Call::open, Call::write, Call::ftruncate, Call::fsync})
    for (int nth = 1; nth < 4; ++nth) {
      const Fault fault(call, nth, EINTR);
      io::write_text(folder / "a", text);
      CHECK(io::read_text(folder / "a") == text);
    }
  const Fault fault(Call::write, 1, 0);
  io::write_text(folder / "a", text + "y");
  CHECK(io::read_text(folder / "a") == text + "y");
  CHECK(fault.fired());
}

TEST_CASE("a full disk is found before anything is written and said with needed and free bytes") {
  const Folder folder;
  const auto file = folder / "a";
  io::write_text(file, "old");
  bool written = false;
  const auto replace = [&](std::int64_t bytes) {
    return message_of([&] {
      io::replace_file(
          file, [&](const auto&) { written = true; }, bytes);
    });
  };
  const std::string said = replace(std::int64_t{1} << 60);
  CHECK_FALSE(written);
  CHECK(holds(said, "1.15e+06 TB"));
  {
    const Fault fault(Call::fallocate, 1, ENOSPC);
    const std::string full = replace(1000000);
    CHECK(holds(full, "needs 1 MB"));
    CHECK(holds(full, " free"));
  }
  {
    const Fault fault(Call::fallocate, 1, EOPNOTSUPP);  // a file system without reservations: asked for its free space
    CHECK(holds(replace(std::int64_t{1} << 60), "No space"));
  }
  CHECK_FALSE(written);
  CHECK(io::read_text(file) == "old");
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("a reservation beyond what is written is given back") {
  const Folder folder;
  io::replace_file(
      folder / "a", [](const std::filesystem::path& temporary) { std::ofstream(temporary) << "short"; }, 10 << 20);
  struct stat info;
  REQUIRE(stat((folder / "a").c_str(), &info) == 0);
  CHECK(info.st_size == 5);
  CHECK(info.st_blocks * 512 < 1 << 20);
}

TEST_CASE("a file size limit is an error, not a signal's death") {
  const Folder folder;
  io::write_text(folder / "a", "old");
  const int code = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { 1000, 1000 };
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = message_of([&] { io::write_text(folder / "a", std::string(5000, 'x')); });
    const std::string reserved = message_of([&] {
      io::replace_file(
          folder / "b", [](const auto&) {}, 5000);
    });
    return holds(said, "ulimit -f") && holds(reserved, "ulimit -f") ? 0 : 1;
  });
  CHECK(code == 0);
  CHECK(io::read_text(folder / "a") == "old");
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("leftovers of a killed process go, other files stay") {
  const Folder folder;
  io::write_text(folder / "a.h5", "x");
  set_bytes(folder / "a.h5.4711.part", "half");
  std::filesystem::create_directory(folder / "b.part");
  io::remove_leftovers(folder.path());
  io::remove_leftovers(folder / "absent");
  CHECK(folder.names() == std::vector<std::string>{"a.h5", "b.part"});
}

TEST_CASE("a folder has one holder, whom the next one names; a dead holder holds nothing") {
  const Folder folder;
  int ready[2], done[2];
  REQUIRE(pipe(ready) == 0);
  REQUIRE(pipe(done) == 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const io::DirectoryLock lock(folder.path());
    char byte = 1;
    (void)!write(ready[1], &byte, 1);
    (void)!read(done[0], &byte, 1);  // until it is killed
    _exit(0);
  }
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  const std::string said = message_of([&] { io::DirectoryLock lock(folder.path()); });
  CHECK(holds(said, folder.path().string()));
  CHECK(holds(said, std::to_string(holder)));
  CHECK(holds(said, "since 20"));
  CHECK_THROWS_AS(io::DirectoryLock(folder.path()), BusyError);
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  CHECK_NOTHROW(io::DirectoryLock(folder.path()));
  { const io::DirectoryLock lock(folder.path()); }
  CHECK_NOTHROW(io::DirectoryLock(folder.path()));
  for (const int descriptor : {ready[0], ready[1], done[0], done[1]}) close(descriptor);
}

TEST_CASE("of processes that start together exactly one gets the lock") {
  const Folder folder;
  for (int round = 0; round < 20; ++round) {
    int tried[2], gate[2];
    REQUIRE(pipe(tried) == 0);
    REQUIRE(pipe(gate) == 0);
    std::vector<pid_t> children;
    const auto start = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(gate[1]);
      char byte = 0;
      const auto say_and_wait = [&] {  // until all have tried
        (void)!write(tried[1], &byte, 1);
        (void)!read(gate[0], &byte, 1);
      };
      std::this_thread::sleep_until(start);
      try {
        const io::DirectoryLock lock(folder.path());
        say_and_wait();
        _exit(0);
      } catch (const BusyError&) {
        say_and_wait();
        _exit(8);
      } catch (...) {
        _exit(1);
      }
    }
    close(tried[1]);
    close(gate[0]);
    char byte = 0;
    for (int i = 0; i < 4; ++i) CHECK(read(tried[0], &byte, 1) == 1);
    close(gate[1]);
    close(tried[0]);
    int holders = 0, busy = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      holders += WIFEXITED(status) && WEXITSTATUS(status) == 0;
      busy += WIFEXITED(status) && WEXITSTATUS(status) == 8;
    }
    CHECK(holders == 1);
    CHECK(busy == 3);
  }
}

TEST_CASE("a folder that cannot be locked says why") {
  const Folder folder;
  CHECK_THROWS_AS(io::DirectoryLock(folder / "absent"), IoError);
  for (const int error : {ENOLCK, EOPNOTSUPP}) {
    const Fault fault(Call::flock, 1, error);
    CHECK(holds(message_of([&] { io::DirectoryLock lock(folder.path()); }), "has no locks"));
  }
  const Fault interrupted(Call::flock, 1, EINTR);
  CHECK_NOTHROW(io::DirectoryLock(folder.path()));
}
