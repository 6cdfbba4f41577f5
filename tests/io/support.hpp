#pragma once
/// What the io tests share: a folder of their own, bytes of files, a state with everything in it.

#include "gaussflow/io/checkpoint.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace support {

/// A fresh folder, removed at the end.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  /// Names of what is in it, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::filesystem::path& file);
/// Flips one bit in place.
void flip(const std::filesystem::path& file, std::size_t bit);
void set_bytes(const std::filesystem::path& file, const std::string& bytes);

/// Particles, log weights, and slots of every dtype and of rank 0, 1, 3 and empty; a function of `step`.
gaussflow::io::Checkpoint rich_checkpoint(std::int64_t step, std::int64_t particles = 7);

/// Same state and record, bit for bit.
bool same(const gaussflow::io::Checkpoint& a, const gaussflow::io::Checkpoint& b);

/// Runs `body` in a child process. Its exit code, or 128 + the signal that ended it.
int in_child(const std::function<int()>& body);

/// The message of the InputError, CheckpointError, IoError … that `body` throws; empty when it throws none.
std::string message_of(const std::function<void()>& body);

}  // namespace support
