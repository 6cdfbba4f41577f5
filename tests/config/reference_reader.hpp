#pragma once
/// A second reading of the sample config, sharing no code with the engine's: tables and the C library.

#include "gaussflow/config/value.hpp"

#include <string>

namespace sample {

/// The resolved form that a config must have, intervals as numbers. Throws std::runtime_error when the config must be
/// refused.
gaussflow::config::Json reference(const gaussflow::config::Node& root);

/// The same form of what the engine wrote.
gaussflow::config::Json comparable(gaussflow::config::Json written);

}  // namespace sample
