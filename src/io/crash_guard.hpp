#pragma once
/// HDF5's parser is no guard against damage: some files with one flipped bit end it with a signal, others keep it in a loop
/// without end. Around the reading of a file that carries no seal, both become one line about the file and the exit code of
/// bad input.

#include <filesystem>

namespace gaussflow::io {

/// While one lives, SIGSEGV, SIGBUS, SIGFPE and SIGABRT (a damaged heap) of this thread end the process with
/// ExitCode::input, and so does `seconds` of this thread's processor time: the largest listing takes a few. Other threads'
/// signals do what they did before, and so do all once the last guard is gone. Guards nest; the outermost one's file and
/// time count.
class CrashGuard {
 public:
  explicit CrashGuard(const std::filesystem::path& file, double seconds = 60);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

  /// Lengthens the time by what the reading of so many bytes may take: called before what may be long in a sound file.
  static void expect(double bytes);
};

}  // namespace gaussflow::io
