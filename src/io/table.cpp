#include "gaussflow/io/table.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/durable.hpp"
#include "gaussflow/io/memory.hpp"

#include "io/file_kind.hpp"
#include "io/numbers.hpp"
#include "io/table_reader.hpp"

#include <fmt/format.h>

#include <limits>

namespace gaussflow::io {

SampleFile read_table(const std::filesystem::path& file, const SampleOptions& options) {
  const std::string where = file.string();
  const FileKind kind = file_kind(open_regular(file));
  if (kind != FileKind::npy && kind != FileKind::text)
    throw InputError(fmt::format("{} is neither text nor a NumPy array (.npy)", where));
  const auto size = static_cast<double>(std::filesystem::file_size(file));
  const auto available = static_cast<double>(available_memory());
  // The file, its numbers, and the vector or the copy that they come from.
  if (3 * size > available)
    throw DeviceError(fmt::format("{} has {}: reading it needs {}, {} of memory are free; a part of it needs less", where,
                                  bytes_text(size), bytes_text(3 * size), bytes_text(available)));
  const std::string bytes = read_text(file, std::numeric_limits<std::int64_t>::max()).value_or("");
  SampleFile result = kind == FileKind::npy ? parse_npy(bytes, where, options) : parse_text_table(bytes, where, options);
  result.digest = sample_digest(result.samples, result.weights);
  return result;
}

SampleFile import_samples(const DataRef& ref, const SampleOptions& options) {
  const FileKind kind = file_kind(open_regular(ref.file));
  if (kind == FileKind::zip) {
    SampleFile result = read_npz(ref, options);
    result.digest = sample_digest(result.samples, result.weights);
    return result;
  }
  if (!ref.dataset.empty()) return read_samples(ref, options);
  return kind == FileKind::npy || kind == FileKind::text ? read_table(ref.file, options) : read_samples(ref, options);
}

}  // namespace gaussflow::io
