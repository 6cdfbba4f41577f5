#pragma once
/// What made the numbers of a checkpoint, and what has changed since.

#include "run/config.hpp"

#include <map>
#include <string>
#include <vector>

namespace gaussflow::run {

using Provenance = std::map<std::string, std::string>;

/// Program, LibTorch, device and threads of this process.
Provenance provenance(const RunConfig& config);

/// What differs from the run so far and may change last bits, a phrase each: the program, the threads, keys of class `bits`.
std::vector<std::string> other_bits(const Provenance& then, const Provenance& now, const RunConfig& before,
                                    const RunConfig& config);

}  // namespace gaussflow::run
