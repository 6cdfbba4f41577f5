#pragma once
/// Targets as a config asks for them.

#include "gaussflow/core/error.hpp"
#include "gaussflow/target/target.hpp"

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <string>

namespace gaussflow::testing {

/// From the lines under `target:`, e.g. "{gaussian: {mean: [1, 2]}}"; relative files are in tests/data.
std::unique_ptr<Target> make_target(const std::string& yaml, std::uint64_t seed = 0);

/// What make_target throws for this config; empty when it throws nothing.
std::string failure(const std::string& yaml);

/// A folder of this process under the system's temporary one, removed at the end.
const std::filesystem::path& scratch();

/// Score by fourth-order central differences of log_prob, fp64.
Tensor difference_score(const Target& target, const Tensor& x, double h = 3e-4, const Draw& draw = {});

/// max |a − b| / (1 + max |b|).
double relative_error(const Tensor& a, const Tensor& b);

/// Runs `body` with 1 and then with 2, 3 and 4 threads and says whether the densities are equal bit for bit.
bool independent_of_threads(const Target& target, const Tensor& x);

}  // namespace gaussflow::testing
