#pragma once
/// Files that are either old or new, never half; and the lock of a run directory.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace gaussflow::io {

/// Replaces `file` by what `write(temporary)` makes: a temporary name (*.part) in the same folder, fsync, rename, fsync of
/// the folder. With `reserve` bytes the space is claimed first, so that a full disk is found before anything is written.
/// `write` must keep the file that is there (truncating it is fine).
/// Throws  IoError naming the path, needed and free bytes; the temporary file is removed and the old one left alone.
void replace_file(const std::filesystem::path& file, const std::function<void(const std::filesystem::path&)>& write,
                  std::int64_t reserve = 0);

/// Claims `bytes` of disk for an existing file without changing its length; `shown` is the name for messages.
/// Throws  IoError with needed and free bytes.
void reserve_space(const std::filesystem::path& file, std::int64_t bytes, const std::filesystem::path& shown);

/// Removes temporary files that a killed process left in `directory`; only the holder of its lock may.
void remove_leftovers(const std::filesystem::path& directory);

/// Text through replace_file.
void write_text(const std::filesystem::path& file, const std::string& text);

/// The whole of a regular file (never a FIFO or device), nullopt when it is not there.
/// Throws  InputError beyond `limit` bytes.
std::optional<std::string> read_text(const std::filesystem::path& file, std::int64_t limit = 1 << 24);

/// An open file that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int value = -1) : value_(value) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : value_(other.value_) { other.value_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  int value() const { return value_; }
  bool open() const { return value_ >= 0; }
  /// The errno of a failed close, else 0. Closes once: after EINTR the descriptor is gone on Linux.
  int close();

 private:
  int value_;
};

/// Opens a regular file for reading, without waiting for a FIFO and never a device or a folder.
/// Throws  InputError: missing (with the closest name in the folder), not regular, not readable.
Descriptor open_regular(const std::filesystem::path& file);

/// flock on DIR/.lock, released by the kernel when the process ends, however it ends.
class DirectoryLock {
 public:
  /// Throws BusyError naming holder (pid, host, start); IoError when the folder cannot be written or has no locks.
  explicit DirectoryLock(const std::filesystem::path& directory);

 private:
  Descriptor descriptor_;
};

}  // namespace gaussflow::io
