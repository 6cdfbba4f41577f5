#include "io/sealed_file.hpp"

#include "gaussflow/core/digest.hpp"
#include "gaussflow/core/error.hpp"
#include "gaussflow/io/durable.hpp"

#include "io/crash_guard.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace gaussflow::io {

namespace {

constexpr std::int64_t block = 512;

/// What the user block holds, in lines that `head -c 512` shows; zeros fill it up.
struct Header {
  Seal seal;
  std::int64_t bytes = 0;
  std::string sha256;
};

/// The lines that the digest covers beside the bytes after the block.
std::string covered(const Header& header) {
  return fmt::format("{} {}\nstep {}\nbytes {}\n", header.seal.format, header.seal.version, header.seal.step, header.bytes);
}

std::string text_of(const Header& header) {
  std::string text = covered(header) + fmt::format("sha256 {}\n", header.sha256);
  text.resize(block, '\0');
  return text;
}

[[noreturn]] void fail(const std::filesystem::path& file, int error) {
  throw InputError(fmt::format("cannot read {}: {}", file.string(), std::generic_category().message(error)));
}

/// Fills `size` bytes from `offset` or as many as there are.
std::size_t read_at(const Descriptor& in, const std::filesystem::path& file, char* out, std::size_t size,
                    std::int64_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(in.value(), out + done, size - done, offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

std::int64_t size_of(const Descriptor& in, const std::filesystem::path& file) {
  struct stat info;
  if (fstat(in.value(), &info) != 0) fail(file, errno);
  return info.st_size;
}

/// HDF5 locks a file that it opens for writing, and marks it inside: its bytes are no longer what was sealed, and yet it is
/// not damage.
void refuse_if_held(const Descriptor& in, const std::filesystem::path& file) {
  if (flock(in.value(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw InputError(
        fmt::format("{} is open for writing in another process: close it there, then try again", file.string()));
}

std::string digest_of(const Descriptor& in, const std::filesystem::path& file, const Header& header) {
  Digest digest;
  digest.update(covered(header));
  std::vector<char> buffer(1 << 20);
  std::int64_t offset = block;
  while (const std::size_t count = read_at(in, file, buffer.data(), buffer.size(), offset)) {
    digest.update(buffer.data(), count);
    offset += static_cast<std::int64_t>(count);
  }
  return digest.hex();
}

std::optional<std::string_view> take(std::string_view& text, std::string_view word) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.substr(0, end).starts_with(word)) return std::nullopt;
  const std::string_view value = text.substr(word.size(), end - word.size());
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::int64_t> number(std::optional<std::string_view> text) {
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < 0) return std::nullopt;
  return value;
}

/// "the file holds /samples [500, 2] fp64", of a file without this seal.
std::string what_it_is(const std::filesystem::path& file) {
  try {
    const CrashGuard guard(file);
    return hdf5::Reader(file).contents();
  } catch (const DamagedError& error) {
    return error.what();
  } catch (const InputError&) {
    return "it is not HDF5 either";
  }
}

std::string head_of(const Descriptor& in, const std::filesystem::path& file) {
  std::string raw(block, '\0');
  raw.resize(read_at(in, file, raw.data(), raw.size(), 0));
  return raw;
}

/// Whether a file starts with a seal, even one with a line that can no longer be read.
bool looks_sealed(std::string_view head) {
  constexpr std::array<std::string_view, 3> lines{"\nstep ", "\nbytes ", "\nsha256 "};
  return head.starts_with("gaussflow-") +
             std::count_if(lines.begin(), lines.end(),
                           [&](std::string_view line) { return head.find(line) != std::string_view::npos; }) >=
         2;
}

/// "gaussflow-checkpoint" of a seal of any format.
std::string format_of(std::string_view head) {
  return std::string(head.substr(0, head.substr(0, head.find('\n')).rfind(' ')));
}

Header parse(const Descriptor& in, const std::filesystem::path& file, const Seal& expected) {
  const std::string raw = head_of(in, file);
  if (raw.empty()) throw DamagedError(fmt::format("{} is empty", file.string()));
  std::string_view text = raw;
  const auto version = number(take(text, expected.format + " "));
  if (!version)
    throw DamagedError(fmt::format("{} is not a {}: the seal at its start is missing; {}", file.string(), expected.format,
                                   what_it_is(file)));
  Header header;
  header.seal = {expected.format, *version, 0};
  const auto step = number(take(text, "step "));
  const auto bytes = number(take(text, "bytes "));
  const auto sha256 = take(text, "sha256 ");
  if (!step || !bytes || !sha256) throw DamagedError(fmt::format("{} is damaged: its seal cannot be read", file.string()));
  header.seal.step = *step;
  header.bytes = *bytes;
  header.sha256 = *sha256;
  return header;
}

/// Throws  DamagedError when the file is not what its seal says.
void compare(const Descriptor& in, const std::filesystem::path& file, const Header& header) {
  if (const std::int64_t size = size_of(in, file); size != header.bytes)
    throw DamagedError(fmt::format("{} is damaged: it should have {} bytes and has {}", file.string(), header.bytes, size));
  if (digest_of(in, file, header) != header.sha256)
    throw DamagedError(fmt::format("{} is damaged: its SHA-256 differs from the one in its seal", file.string()));
}

/// Writes the seal of a closed file.
void seal_file(const std::filesystem::path& file, const std::filesystem::path& shown, const Seal& seal) {
  const auto fail = [&](int error) {
    throw IoError(fmt::format("cannot write {}: {}", shown.string(), std::generic_category().message(error)));
  };
  Descriptor out(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!out.open()) fail(errno);
  Header header{seal, size_of(out, file), ""};
  header.sha256 = digest_of(out, file, header);
  const std::string text = text_of(header);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = pwrite(out.value(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno != EINTR) fail(errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  if (const int error = out.close(); error != 0) fail(error);
}

}  // namespace

void write_sealed(const std::filesystem::path& file, const Seal& seal, std::int64_t reserve, const Arrays& arrays,
                  const std::function<void(hdf5::Writer&)>& write) {
  replace_file(file, [&](const std::filesystem::path& temporary) {
    hdf5::Writer writer(temporary, file, {.user_block = block, .reserve = reserve});
    write(writer);
    writer.close();
    check_written(temporary, file, arrays);
    seal_file(temporary, file, seal);
  });
}

void check_written(const std::filesystem::path& file, const std::filesystem::path& shown, const Arrays& arrays) {
  try {
    const hdf5::Reader in(file);
    for (const auto& [path, values] : arrays)
      if (!hdf5::holds(in.dataset(path), values)) throw InputError(fmt::format("{} differs", path));
  } catch (const InputError& error) {
    throw IoError(fmt::format("cannot write {}: what was written reads back wrong ({})", shown.string(), error.what()));
  }
}

Seal read_seal(const std::filesystem::path& file, const Seal& expected) {
  const Descriptor in = open_regular(file);
  refuse_if_held(in, file);
  return parse(in, file, expected).seal;
}

void verify_seal(const std::filesystem::path& file, const Seal& expected) {
  const Descriptor in = open_regular(file);
  refuse_if_held(in, file);
  const Header header = parse(in, file, expected);
  if (header.seal.version > expected.version)
    throw InputError(
        fmt::format("{} has {} version {}, this program reads up to {}: use the program that wrote it, or a newer one",
                    file.string(), expected.format, header.seal.version, expected.version));
  compare(in, file, header);
}

std::optional<std::string> sealed_format(const std::filesystem::path& file) {
  const std::string head = head_of(open_regular(file), file);
  return looks_sealed(head) ? std::optional(format_of(head)) : std::nullopt;
}

void check_own_seal(const std::filesystem::path& file) {
  const Descriptor in = open_regular(file);
  const std::string head = head_of(in, file);
  if (!looks_sealed(head)) return;
  CrashGuard::expect(static_cast<double>(size_of(in, file)));
  try {
    compare(in, file, parse(in, file, {format_of(head), 0, 0}));
  } catch (const DamagedError& error) {
    refuse_if_held(in, file);
    throw DamagedError(
        fmt::format("{}; if another program changed the file on purpose, write its numbers to a new one, in h5py: "
                    "new['x'] = old['x'][:]",
                    error.what()));
  }
}

}  // namespace gaussflow::io
