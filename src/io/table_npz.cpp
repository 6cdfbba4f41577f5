/// Archives that numpy.savez and savez_compressed write: one .npy file for each array, in a zip file.

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/memory.hpp"

#include "io/table_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>
#include <zip.h>

namespace gaussflow::io {

namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

/// The names of the arrays, without ".npy".
std::vector<std::string> arrays_of(zip_t* archive) {
  std::vector<std::string> names;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const char* name = zip_get_name(archive, static_cast<zip_uint64_t>(i), 0);
    if (name && std::string_view(name).ends_with(".npy")) names.emplace_back(name, std::string_view(name).size() - 4);
  }
  return names;
}

std::string read_member(zip_t* archive, const std::string& name, const std::string& where) {
  zip_stat_t about;
  if (zip_stat(archive, name.c_str(), 0, &about) != 0 || !(about.valid & ZIP_STAT_SIZE))
    throw InputError(fmt::format("{}: its size cannot be read: {}", where, zip_strerror(archive)));
  if (const auto available = static_cast<double>(available_memory()); 3 * static_cast<double>(about.size) > available)
    throw DeviceError(fmt::format("{} declares {}: reading it needs {}, {} of memory are free; a part of it needs less",
                                  where, bytes_text(static_cast<double>(about.size)),
                                  bytes_text(3 * static_cast<double>(about.size)), bytes_text(available)));
  const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(zip_fopen(archive, name.c_str(), 0), &zip_fclose);
  if (!file) throw InputError(fmt::format("{}: {}", where, zip_strerror(archive)));
  std::string bytes(about.size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {  // the last read checks the CRC
    const zip_int64_t count = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0) throw InputError(fmt::format("{} is damaged: {}", where, zip_file_strerror(file.get())));
    if (count == 0) throw InputError(fmt::format("{} is cut short: {} of {} bytes", where, done, bytes.size()));
    done += static_cast<std::size_t>(count);
  }
  char beyond = 0;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    throw InputError(fmt::format("{} is damaged: {}", where, zip_file_strerror(file.get())));
  return bytes;
}

Archive open_archive(const std::filesystem::path& file) {
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_RDONLY, &code), &zip_discard);
  if (!archive) throw InputError(fmt::format("{} is no zip archive that can be read", file.string()));
  return archive;
}

/// The bytes of the array `wanted`; `where` names it in messages.
std::string read_named(zip_t* archive, const std::vector<std::string>& names, const std::filesystem::path& file,
                       const std::string& wanted, const std::string& where) {
  if (std::find(names.begin(), names.end(), wanted) == names.end())
    throw InputError(fmt::format("{} has no array '{}'{}; it holds {}", file.string(), wanted, suggestion(wanted, names),
                                 names.empty() ? "no array" : fmt::format("{}", fmt::join(names, ", "))));
  return read_member(archive, wanted + ".npy", where);
}

}  // namespace

std::vector<std::string> npz_names(const std::filesystem::path& file) { return arrays_of(open_archive(file).get()); }

Tensor read_npz_array(const std::filesystem::path& file, const std::string& name) {
  const Archive archive = open_archive(file);
  const std::string where = file.string() + ":/" + name;
  return parse_npy_array(read_named(archive.get(), arrays_of(archive.get()), file, name, where), where);
}

SampleFile read_npz(const DataRef& ref, const SampleOptions& options) {
  const Archive archive = open_archive(ref.file);
  const std::vector<std::string> names = arrays_of(archive.get());
  std::string wanted = ref.dataset;
  if (wanted.starts_with('/')) wanted.erase(0, 1);
  if (wanted.empty()) {
    if (std::find(names.begin(), names.end(), "samples") != names.end())
      wanted = "samples";
    else if (names.size() == 1)
      wanted = names.front();
    else
      throw InputError(fmt::format("{0} has no array 'samples'; name one ({0}:/NAME); it holds {1}", ref.file.string(),
                                   fmt::join(names, ", ")));
  }
  const std::string where = ref.file.string() + ":/" + wanted;
  SampleFile result = parse_npy(read_named(archive.get(), names, ref.file, wanted, where), where, options);
  result.dataset = "/" + wanted;
  return result;
}

}  // namespace gaussflow::io
