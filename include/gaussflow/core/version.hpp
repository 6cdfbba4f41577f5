#pragma once
#include <string>

namespace gaussflow {

std::string version();        ///< "0.1.0"
std::string revision();       ///< git describe of the sources at configure time
std::string torch_version();  ///< LibTorch this was compiled against

}  // namespace gaussflow
