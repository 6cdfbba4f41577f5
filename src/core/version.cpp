#include "gaussflow/core/version.hpp"

#include <torch/headeronly/version.h>

namespace gaussflow {

std::string version() { return GAUSSFLOW_VERSION; }
std::string revision() { return GAUSSFLOW_REVISION; }
std::string torch_version() { return TORCH_VERSION; }

}  // namespace gaussflow
