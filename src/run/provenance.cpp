#include "run/provenance.hpp"

#include "gaussflow/core/device.hpp"
#include "gaussflow/core/version.hpp"

#include <fmt/format.h>

namespace gaussflow::run {

Provenance provenance(const RunConfig& config) {
  return {{"program_version", version()},
          {"revision", revision()},
          {"torch", torch_version()},
          {"device", config.compute.device},
          {"threads", std::to_string(threads())}};
}

std::vector<std::string> other_bits(const Provenance& then, const Provenance& now, const RunConfig& before,
                                    const RunConfig& config) {
  const auto value = [](const Provenance& map, const char* key) {
    const auto it = map.find(key);
    return it == map.end() ? std::string("?") : it->second;
  };
  const auto build = [&](const Provenance& map) {
    return fmt::format("gaussflow {} ({}, LibTorch {})", value(map, "program_version"), value(map, "revision"),
                       value(map, "torch"));
  };
  std::vector<std::string> notes;
  if (build(then) != build(now))
    notes.push_back(fmt::format("the checkpoint is by {}, this is {}", build(then), build(now)));
  if (value(then, "threads") != value(now, "threads"))
    notes.push_back(fmt::format("threads: {} so far, {} now", value(then, "threads"), value(now, "threads")));
  for (const Difference& d : differences(before.bits(), config.bits()))
    if (d.key != "compute.threads") notes.push_back(fmt::format("{} changed from {} to {}", d.key, d.before, d.now));
  return notes;
}

}  // namespace gaussflow::run
