#include "run/directory.hpp"

#include "gaussflow/core/error.hpp"
#include "gaussflow/core/text.hpp"
#include "gaussflow/io/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>

namespace gaussflow::run {

namespace {

constexpr std::array own_files{
    "config.yaml", "config.resolved.yaml", "provenance.json", "status.json", "samples.h5", "metrics.csv",
    "log.jsonl",   "report.html",          "checkpoints",     "trajectory"};

[[noreturn]] void refuse(const fs::path& directory) {
  const std::optional<config::Json> status = read_status(directory);
  const std::string state = status ? status->value("status", "unknown") : "unknown";
  const std::string where = directory.string();
  const bool begun = !io::list_checkpoints(directory / "checkpoints").empty();
  throw BusyError(
      fmt::format("{0} already holds a run ({1}, step {2}).\n{3}"
                  "  keep it, run anew:   add -o OTHER_FOLDER\n"
                  "  replace it:          add --overwrite",
                  where, state, status ? status->value("step", std::int64_t{0}) : 0,
                  begun ? fmt::format("  go on with it:       gaussflow resume {}\n", shell_quoted(where)) : ""));
}

}  // namespace

std::optional<config::Json> read_status(const fs::path& directory) {
  try {
    const std::optional<std::string> text = io::read_text(directory / "status.json");
    if (!text) return std::nullopt;
    const config::Json status = config::Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!status.is_object() || status.value("format", "") != "gaussflow-run") return std::nullopt;
    return status;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

Content content_of(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return Content::nothing;
  bool empty = true;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (entry.path().filename() != ".lock") empty = false;
  if (error) throw IoError(fmt::format("cannot read folder {}: {}", directory.string(), error.message()));
  if (empty) return Content::nothing;
  const bool ours = read_status(directory) || fs::is_directory(directory / "checkpoints", error);
  return ours ? Content::run : Content::foreign;
}

Directory Directory::create(const fs::path& directory, bool overwrite) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error))
    throw IoError(fmt::format("{} is a file, a run needs a folder: choose another with -o", directory.string()));
  if (content_of(directory) == Content::foreign)
    throw BusyError(
        fmt::format("{} holds files that are not a gaussflow run; nothing in it is touched. Choose another folder with -o",
                    directory.string()));
  fs::create_directories(directory, error);
  if (error) throw IoError(fmt::format("cannot make folder {}: {}", directory.string(), error.message()));
  Directory result(directory, io::DirectoryLock(directory));
  if (content_of(directory) == Content::run) {
    if (!overwrite) refuse(directory);
    for (const char* name : own_files) fs::remove_all(directory / name, error);
  }
  for (const fs::path& sub : {result.checkpoints(), result.trajectory()}) {
    fs::create_directories(sub, error);
    if (error) throw IoError(fmt::format("cannot make folder {}: {}", sub.string(), error.message()));
  }
  return result;
}

Directory Directory::open(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw CheckpointError(fmt::format("there is no run folder {}{}", directory.string(), file_suggestion(directory)));
  if (content_of(directory) != Content::run)
    throw CheckpointError(fmt::format("{} holds no gaussflow run: no status.json and no checkpoints/", directory.string()));
  Directory result(directory, io::DirectoryLock(directory));
  io::remove_leftovers(directory);  // samples.h5.*.part and the like, of a process that was killed
  return result;
}

void Directory::log_event(const std::string& event, config::Json details) const {
  const auto now = std::chrono::system_clock::now();
  config::Json line{{"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)))},
                    {"event", event}};
  line.update(details);
  const std::string text = line.dump(-1, ' ', false, config::Json::error_handler_t::replace) + "\n";
  const int descriptor = ::open(log().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
  ::close(descriptor);
}

}  // namespace gaussflow::run
