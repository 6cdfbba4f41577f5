#include "gaussflow/core/digest.hpp"

#include "gaussflow/core/error.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace gaussflow {

struct Digest::Impl {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

Digest::Digest() : impl_(std::make_unique<Impl>()) {
  if (EVP_DigestInit_ex(impl_->context.get(), EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available");
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

Digest& Digest::update(const void* data, std::size_t size) {
  EVP_DigestUpdate(impl_->context.get(), data, size);
  return *this;
}

Digest& Digest::update(std::string_view text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  std::array<unsigned char, 8> prefix;
  for (std::size_t i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<unsigned char>(size >> 8 * i);
  return update(prefix.data(), prefix.size()).update(text.data(), text.size());
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned int size = 0;
  EVP_DigestFinal_ex(impl_->context.get(), bytes.data(), &size);
  std::string result;
  for (unsigned int i = 0; i < size; ++i) result += fmt::format("{:02x}", bytes[i]);
  return result;
}

std::string file_digest(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(fmt::format("cannot read {}", file.string()));
  Digest digest;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0)
    digest.update(buffer.data(), static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw InputError(fmt::format("reading {} failed", file.string()));
  return digest.hex();
}

}  // namespace gaussflow
