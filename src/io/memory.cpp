#include "gaussflow/io/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace gaussflow::io {

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

std::int64_t machine() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  std::int64_t kilobytes = 0;
  while (in >> key >> kilobytes) {
    std::getline(in, unit);
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return unlimited;
}

/// Control group v2, from this process's group up to the root: the tightest limit counts.
std::int64_t control_group() {
  std::ifstream in("/proc/self/cgroup");
  std::int64_t least = unlimited;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const std::string folder = "/sys/fs/cgroup" + group;
      const auto limit = number_in(folder + "/memory.max");
      const auto used = number_in(folder + "/memory.current");
      if (limit && used) least = std::min(least, std::max<std::int64_t>(0, *limit - *used));
      if (group.empty() || group == "/") break;
    }
  }
  return least;
}

std::int64_t address_space() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  const std::int64_t used = number_in("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

}  // namespace

std::int64_t available_memory() { return std::min({machine(), control_group(), address_space()}); }

}  // namespace gaussflow::io
