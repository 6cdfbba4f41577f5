#pragma once
/// SHA-256, by OpenSSL.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gaussflow {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;

  Digest& update(const void* data, std::size_t size);
  /// Length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
  Digest& update(std::string_view text);
  /// 64 lower-case hexadecimal characters; ends the computation.
  std::string hex();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Digest of a whole file. Throws InputError when it cannot be read.
std::string file_digest(const std::filesystem::path& file);

}  // namespace gaussflow
