#include "gaussflow/io/durable.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

namespace gaussflow::io {

namespace {

constexpr const char* suffix = ".part";

std::string reason(int error) { return std::generic_category().message(error); }

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// Bytes that this user may still write beside `file`; negative when nobody says.
std::int64_t free_bytes(const std::filesystem::path& file) {
  struct statvfs info;
  if (statvfs(folder_of(file).c_str(), &info) != 0) return -1;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::int64_t file_size_limit() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

[[noreturn]] void fail(const std::string& action, const std::filesystem::path& file, int error, std::int64_t needed = 0) {
  std::string message = fmt::format("cannot {} {}: {}", action, file.string(), reason(error));
  if (needed > 0) message += fmt::format("; needs {}", bytes_text(static_cast<double>(needed)));
  if (error == ENOSPC || error == EDQUOT) {
    if (const std::int64_t free = free_bytes(file); free >= 0)
      message += fmt::format(", {} free", bytes_text(static_cast<double>(free)));
    message += ". Free space, then run again";
  } else if (error == EFBIG) {
    message += fmt::format(", the file size limit is {} (ulimit -f)", bytes_text(static_cast<double>(file_size_limit())));
  }
  throw IoError(message);
}

template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// A name in the same folder that no other process uses; cut so that it stays a legal name.
std::filesystem::path temporary_name(const std::filesystem::path& file) {
  return folder_of(file) / fmt::format("{}.{}{}", file.filename().string().substr(0, 200), getpid(), suffix);
}

Descriptor create_temporary(const std::filesystem::path& temporary, const std::filesystem::path& file) {
  const auto create = [&] {
    return retried([&] { return open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  };
  int descriptor = create();
  if (descriptor < 0 && errno == EEXIST && unlink(temporary.c_str()) == 0) descriptor = create();
  if (descriptor < 0) fail("write", file, errno);
  return Descriptor(descriptor);
}

void check_replaceable(const std::filesystem::path& file) {
  struct stat info;
  if (lstat(file.c_str(), &info) != 0) {
    if (errno != ENOENT) fail("write", file, errno);
  } else if (S_ISDIR(info.st_mode)) {
    fail("write", file, EISDIR);
  } else if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) {
    throw IoError(fmt::format("cannot write {}: it is not a regular file; name another one", file.string()));
  }
}

void sync(const Descriptor& descriptor, const std::filesystem::path& file) {
  if (retried([&] { return fsync(descriptor.value()); }) != 0) fail("write", file, errno);
}

void sync_folder(const std::filesystem::path& file) {
  Descriptor folder(retried([&] { return open(folder_of(file).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.open()) fail("sync the folder of", file, errno);
  // Some network and user-space file systems have no fsync for folders; theirs is the rename's own durability.
  if (retried([&] { return fsync(folder.value()); }) != 0 && errno != EINVAL && errno != ENOTSUP)
    fail("sync the folder of", file, errno);
}

}  // namespace

Descriptor::~Descriptor() { close(); }

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

int Descriptor::close() {
  if (value_ < 0) return 0;
  const int result = ::close(value_) == 0 || errno == EINTR ? 0 : errno;
  value_ = -1;
  return result;
}

void reserve_space(const std::filesystem::path& file, std::int64_t bytes, const std::filesystem::path& shown) {
  if (bytes <= 0) return;
  if (const std::int64_t limit = file_size_limit(); limit >= 0 && bytes > limit) fail("write", shown, EFBIG, bytes);
  Descriptor descriptor(retried([&] { return open(file.c_str(), O_RDWR | O_CLOEXEC); }));
  if (!descriptor.open()) fail("write", shown, errno, bytes);
  if (retried([&] { return fallocate(descriptor.value(), FALLOC_FL_KEEP_SIZE, 0, bytes); }) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS) fail("write", shown, errno, bytes);
  if (const std::int64_t free = free_bytes(file); free >= 0 && free < bytes) fail("write", shown, ENOSPC, bytes);
}

void replace_file(const std::filesystem::path& file, const std::function<void(const std::filesystem::path&)>& write,
                  std::int64_t reserve) {
  check_replaceable(file);
  const std::filesystem::path temporary = temporary_name(file);
  // Opened before the first write and kept until fsync, so that no failed write-back of this file can escape it.
  Descriptor descriptor = create_temporary(temporary, file);
  try {
    reserve_space(temporary, reserve, file);
    write(temporary);
    struct stat made, kept;
    if (stat(temporary.c_str(), &made) != 0 || fstat(descriptor.value(), &kept) != 0) fail("write", file, errno);
    if (made.st_ino != kept.st_ino)
      throw IoError(fmt::format("cannot write {}: its temporary file was replaced", file.string()));
    // Gives back what was reserved beyond the end.
    if (retried([&] { return ftruncate(descriptor.value(), kept.st_size); }) != 0) fail("write", file, errno);
    sync(descriptor, file);
    if (const int error = descriptor.close(); error != 0) fail("write", file, error);
    if (rename(temporary.c_str(), file.c_str()) != 0) fail("write", file, errno);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
  sync_folder(file);
}

void remove_leftovers(const std::filesystem::path& directory) {
  std::error_code ignored;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored))
    if (entry.path().extension() == suffix && entry.is_regular_file(ignored)) found.push_back(entry.path());
  for (const auto& path : found) std::filesystem::remove(path, ignored);
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  const auto write = [&](const std::filesystem::path& temporary) {
    Descriptor out(retried([&] { return open(temporary.c_str(), O_WRONLY | O_CLOEXEC); }));
    if (!out.open()) fail("write", file, errno);
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = retried([&] { return ::write(out.value(), text.data() + done, text.size() - done); });
      if (count < 0) fail("write", file, errno, static_cast<std::int64_t>(text.size()));
      done += static_cast<std::size_t>(count);
    }
    if (const int error = out.close(); error != 0) fail("write", file, error);
  };
  replace_file(file, write);
}

Descriptor open_regular(const std::filesystem::path& file) {
  Descriptor descriptor(retried([&] { return open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  const std::string name = file.string();
  if (!descriptor.open()) {
    const int error = errno;
    if (error != ENOENT) throw InputError(fmt::format("cannot read {}: {}", name, reason(error)));
    throw InputError(fmt::format("{} does not exist{}", name, file_suggestion(file)));
  }
  struct stat info;
  if (fstat(descriptor.value(), &info) != 0) throw InputError(fmt::format("cannot read {}: {}", name, reason(errno)));
  if (S_ISDIR(info.st_mode)) throw InputError(fmt::format("cannot read {}: it is a folder, a file is needed", name));
  if (!S_ISREG(info.st_mode)) throw InputError(fmt::format("cannot read {}: it is not a regular file", name));
  return descriptor;
}

std::optional<std::string> read_text(const std::filesystem::path& file, std::int64_t limit) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0 && errno == ENOENT) return std::nullopt;
  const Descriptor in = open_regular(file);
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (;;) {
    const ssize_t count = retried([&] { return read(in.value(), buffer.data(), buffer.size()); });
    if (count < 0) throw InputError(fmt::format("cannot read {}: {}", file.string(), reason(errno)));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(text.size()) > limit)
      throw InputError(fmt::format("{} is larger than {}, too large for what it should be", file.string(),
                                   bytes_text(static_cast<double>(limit))));
  }
}

}  // namespace gaussflow::io
