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

/// What a control group leaves, from the given folder up to its root: the tightest limit counts.
std::int64_t group_limit(const std::string& root, std::string group, const std::string& limit_file,
                         const std::string& usage_file) {
  std::int64_t least = unlimited;
  for (;;) {
    const auto limit = number_in(root + group + "/" + limit_file);
    const auto used = number_in(root + group + "/" + usage_file);
    if (limit && used) least = std::min(least, std::max<std::int64_t>(0, *limit - *used));
    if (group.empty() || group == "/") return least;
    group.resize(group.rfind('/'));
  }
}

/// Lines are "0::/a/b" (version 2) and "4:memory:/a/b" (version 1, still met on clusters).
std::int64_t control_group() {
  std::ifstream in("/proc/self/cgroup");
  std::int64_t least = unlimited;
  for (std::string line; std::getline(in, line);) {
    const std::size_t path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string group = line.substr(path + 1);
    if (line.starts_with("0::"))
      least = std::min(least, group_limit("/sys/fs/cgroup", group, "memory.max", "memory.current"));
    else if (line.find(":memory:") != std::string::npos)
      least = std::min(least, group_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
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
