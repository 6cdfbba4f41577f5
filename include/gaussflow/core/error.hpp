#pragma once
/// Errors a person can act on. Each carries the exit code of the one list in docs/running.md.

#include <stdexcept>
#include <string>

namespace gaussflow {

enum class ExitCode : int {
  ok = 0,
  bug = 1,
  usage = 2,       ///< command line; an explicit reduction, backend or dtype that cannot take this problem
  config = 3,      ///< config missing, unreadable or wrong
  input = 4,       ///< input data missing, refused or not finite
  checkpoint = 5,  ///< checkpoint unusable, or resume refused
  io = 6,          ///< writing failed: disk full, permission
  numerical = 7,   ///< NaN or divergence
  busy = 8,        ///< run directory busy or not empty, output file there already
  device = 9,      ///< device or memory not there
  findings = 10,   ///< `inspect --verify` or `report --strict` found problems
  stopped = 75,    ///< stopped early with a good checkpoint: run again
};

/// A mistake or a limit, said as what, where and what would do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

template <ExitCode Code>
class TypedError : public Error {
 public:
  explicit TypedError(const std::string& message) : Error(Code, message) {}
};

using UsageError = TypedError<ExitCode::usage>;
using ConfigError = TypedError<ExitCode::config>;
using InputError = TypedError<ExitCode::input>;
using CheckpointError = TypedError<ExitCode::checkpoint>;
using IoError = TypedError<ExitCode::io>;
using NumericalError = TypedError<ExitCode::numerical>;
using BusyError = TypedError<ExitCode::busy>;
using DeviceError = TypedError<ExitCode::device>;

/// Operands that do not fit each other.
class ShapeError : public InputError {
 public:
  using InputError::InputError;
};

/// A reduction, backend or dtype asked for by name that cannot take this problem; says the number that forbids it.
class UnsupportedError : public UsageError {
 public:
  using UsageError::UsageError;
};

}  // namespace gaussflow
