#include "run/metrics_file.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/durable.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

namespace gaussflow::run {

std::int64_t MetricsFile::cut(std::int64_t step) {
  const std::optional<std::string> text = io::read_text(file_, std::int64_t{1} << 32);
  if (!text) return -1;
  std::string kept;
  std::int64_t last = -1;
  std::string_view rest = *text;
  for (bool header = true; !rest.empty(); header = false) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view line = rest.substr(0, end + 1);
    rest.remove_prefix(end + 1);
    if (!header) {
      std::int64_t row = -1;
      std::from_chars(line.data(), line.data() + line.size(), row);
      if (row < 0 || row > step) continue;
      last = row;
    }
    kept += line;
  }
  if (kept.size() != text->size()) io::write_text(file_, kept);
  return last;
}

void MetricsFile::append(const Measurement& m, double wall_seconds) {
  std::string header = "step,time,wall_seconds";
  std::string row = fmt::format("{},{},{:.3f}", m.step, number_text(m.time), wall_seconds);
  for (const auto& [name, value] : m.values) {
    header += fmt::format(",{}", name);
    row += fmt::format(",{}", value ? number_text(*value) : "");
  }
  std::error_code ignored;
  const bool fresh = !std::filesystem::exists(file_, ignored) || std::filesystem::file_size(file_, ignored) == 0;
  const std::string text = fresh ? fmt::format("{}\n{}\n", header, row) : fmt::format("{}\n", row);
  const int descriptor = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool written = descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!written) throw IoError(fmt::format("cannot write {}: {}", file_.string(), std::strerror(reason)));
}

void MetricsFile::sync() const {
  const int descriptor = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace gaussflow::run
