#pragma once
/// Files that are either old or new, never half; and the lock of a run directory.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace gaussflow::io {

/// Replaces `file` by what `write(temporary)` makes: a temporary name in the same folder, fsync, rename, fsync of the folder.
/// With `reserve` bytes the space is claimed first, so that a full disk is found before anything is written.
/// Throws  IoError naming the path, needed and free bytes; the temporary file is removed and the old one left alone.
void replace_file(const std::filesystem::path& file, const std::function<void(const std::filesystem::path&)>& write,
                  std::int64_t reserve = 0);

/// Text through replace_file.
void write_text(const std::filesystem::path& file, const std::string& text);

/// The whole of a regular file (never a FIFO or device), nullopt when it is not there. Throws InputError beyond `limit` bytes.
std::optional<std::string> read_text(const std::filesystem::path& file, std::int64_t limit = 1 << 24);

/// flock on DIR/.lock, released by the kernel when the process ends, however it ends.
class DirectoryLock {
 public:
  /// Throws BusyError naming holder (pid, host, start); IoError when the folder cannot be written.
  explicit DirectoryLock(const std::filesystem::path& directory);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace gaussflow::io
