#pragma once
/// HDF5's parser is no guard against damage: some files with one flipped bit end it with a signal. Around the reading of a
/// file that carries no seal, such a signal becomes one line about the file and the exit code of bad input.

#include <filesystem>

namespace gaussflow::io {

/// While one lives, SIGSEGV, SIGBUS, SIGFPE and SIGABRT (a damaged heap) of this thread end the process with
/// ExitCode::input. Other threads' signals do what they did before, and so do all once the last guard is gone. Guards nest.
class CrashGuard {
 public:
  explicit CrashGuard(const std::filesystem::path& file);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;
};

}  // namespace gaussflow::io
