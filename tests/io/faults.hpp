#pragma once
/// Makes a system call of this process fail: the tests' executable defines write, fsync, rename … itself, so HDF5's calls
/// are met as well as ours.

#include <string>

namespace support {

enum class Call { open, write, fsync, rename, ftruncate, fallocate, flock, close };

std::string name_of(Call call);

enum class Lasting { once, from_then_on };

/// While it lives, the n-th call (from 1) of one kind fails with `error`, or all from then on, as on a full disk; error 0
/// makes a write short instead.
class Fault {
 public:
  Fault(Call call, int nth, int error, Lasting lasting = Lasting::once);
  ~Fault();
  Fault(const Fault&) = delete;
  Fault& operator=(const Fault&) = delete;
  bool fired() const;
};

}  // namespace support
