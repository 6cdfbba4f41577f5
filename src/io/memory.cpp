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

/// Page cache that the kernel gives back when it is asked: counted as used, but free for us.
std::int64_t reclaimable(const std::string& folder, const std::string& prefix) {
  std::ifstream in(folder + "/memory.stat");
  std::string key;
  std::int64_t value = 0, sum = 0;
  while (in >> key >> value)
    if (key == prefix + "inactive_file" || key == prefix + "active_file") sum += value;
  return sum;
}

/// Names in the two versions of control groups; version 1 is still met on clusters.
struct GroupFiles {
  const char* root;
  const char* limit;
  const char* usage;
  const char* prefix;  ///< of the fields of memory.stat that include child groups
};
constexpr GroupFiles version1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"};
constexpr GroupFiles version2{"/sys/fs/cgroup", "memory.max", "memory.current", ""};

/// What is left from the given group up to the root: the tightest limit counts.
std::int64_t group_limit(const GroupFiles& files, std::string group) {
  std::int64_t least = unlimited;
  for (;;) {
    const std::string folder = files.root + group + "/";
    const auto limit = number_in(folder + files.limit);
    const auto used = number_in(folder + files.usage);
    if (limit && used)
      least = std::min(least, std::max<std::int64_t>(0, *limit - *used + reclaimable(folder, files.prefix)));
    if (group.empty() || group == "/") return least;
    group.resize(group.rfind('/'));
  }
}

/// Lines are "0::/a/b" (version 2) and "4:memory:/a/b" (version 1).
std::int64_t control_group() {
  std::ifstream in("/proc/self/cgroup");
  std::int64_t least = unlimited;
  for (std::string line; std::getline(in, line);) {
    const std::size_t path = line.find(":/");
    if (path == std::string::npos) continue;
    const std::string group = line.substr(path + 1);
    if (line.starts_with("0::")) least = std::min(least, group_limit(version2, group));
    if (line.find(":memory:") != std::string::npos) least = std::min(least, group_limit(version1, group));
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
