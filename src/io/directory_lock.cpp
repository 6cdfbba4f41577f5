#include "gaussflow/core/error.hpp"
#include "gaussflow/io/durable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace gaussflow::io {

namespace {

std::string holder_text() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::array<char, 32> since{};
  std::strftime(since.data(), since.size(), "%F %T", localtime_r(&now, &local));
  return fmt::format("process {} on {} since {}", getpid(), host.data(), since.data());
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t count = pread(descriptor, text.data(), text.size() - 1, 0);
  std::string holder(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!holder.empty() && holder.back() == '\n') holder.pop_back();
  return holder.empty() ? "another process" : holder;
}

/// Whether `file` still names what `descriptor` locks: somebody may have removed the folder's files in between.
bool same_file(int descriptor, const std::filesystem::path& file) {
  struct stat held, named;
  return fstat(descriptor, &held) == 0 && stat(file.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

DirectoryLock::DirectoryLock(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / ".lock";
  const auto fail = [&](int error) {
    throw IoError(fmt::format("cannot lock {}: {}", directory.string(), std::generic_category().message(error)));
  };
  do {
    descriptor_ = Descriptor(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
    if (!descriptor_.open()) fail(errno);
    int result = flock(descriptor_.value(), LOCK_EX | LOCK_NB);
    while (result != 0 && errno == EINTR) result = flock(descriptor_.value(), LOCK_EX | LOCK_NB);
    if (result != 0 && errno == EWOULDBLOCK)
      throw BusyError(fmt::format("{} is in use by {}: wait until it ends, or choose another folder", directory.string(),
                                  read_holder(descriptor_.value())));
    if (result != 0 && (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS))
      throw IoError(fmt::format("cannot lock {}: its file system has no locks (flock: {}); put the run on one that has",
                                directory.string(), std::generic_category().message(errno)));
    if (result != 0) fail(errno);
  } while (!same_file(descriptor_.value(), file));
  const std::string holder = holder_text() + "\n";
  if (ftruncate(descriptor_.value(), 0) != 0 ||
      pwrite(descriptor_.value(), holder.data(), holder.size(), 0) != static_cast<ssize_t>(holder.size()))
    fail(errno == 0 ? EIO : errno);
}

}  // namespace gaussflow::io
