#include "io/faults.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <dlfcn.h>

namespace {

struct Plan {
  bool armed = false;
  support::Call call = support::Call::write;
  int countdown = 0;
  int error = 0;
  bool fired = false;
  bool lasting = false;
};
Plan plan;

/// Whether this call is the one that fails; sets errno.
bool strikes(support::Call call) {
  if (!plan.armed || plan.call != call || (plan.fired && !plan.lasting) || --plan.countdown > 0) return false;
  plan.fired = true;
  errno = plan.error;
  return true;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// One write of half the bytes, when the plan says so.
size_t shortened(size_t size) { return std::max<size_t>(1, size / 2); }

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (descriptor > 2 && strikes(support::Call::write)) return plan.error != 0 ? -1 : real(descriptor, data, shortened(size));
  return real(descriptor, data, size);
}

ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (strikes(support::Call::write)) return plan.error != 0 ? -1 : real(descriptor, data, shortened(size), offset);
  return real(descriptor, data, size, offset);
}

ssize_t pwrite64(int descriptor, const void* data, size_t size, off64_t offset) {
  return pwrite(descriptor, data, size, offset);
}

int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return strikes(support::Call::fsync) ? -1 : real(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return strikes(support::Call::rename) ? -1 : real(from, to);
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const real = next<int(int, off_t)>("ftruncate");
  return strikes(support::Call::ftruncate) ? -1 : real(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size) noexcept { return ftruncate(descriptor, size); }

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  static auto* const real = next<int(int, int, off_t, off_t)>("fallocate");
  return strikes(support::Call::fallocate) ? -1 : real(descriptor, mode, offset, size);
}

int flock(int descriptor, int operation) noexcept {
  static auto* const real = next<int(int, int)>("flock");
  return strikes(support::Call::flock) ? -1 : real(descriptor, operation);
}

int open(const char* file, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_DIRECTORY)) != 0;
  return writes && strikes(support::Call::open) ? -1 : real(file, flags, mode);
}

int open64(const char* file, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(file, flags, mode);
}

int close(int descriptor) {
  static auto* const real = next<int(int)>("close");
  const int result = real(descriptor);
  return strikes(support::Call::close) ? -1 : result;
}

}  // extern "C"

namespace support {

std::string name_of(Call call) {
  switch (call) {
    case Call::open:
      return "open";
    case Call::write:
      return "write";
    case Call::fsync:
      return "fsync";
    case Call::rename:
      return "rename";
    case Call::ftruncate:
      return "ftruncate";
    case Call::fallocate:
      return "fallocate";
    case Call::flock:
      return "flock";
    case Call::close:
      return "close";
  }
  return "";
}

Fault::Fault(Call call, int nth, int error, Lasting lasting) {
  plan = {true, call, nth, error, false, lasting == Lasting::from_then_on};
}
Fault::~Fault() { plan.armed = false; }
bool Fault::fired() const { return plan.fired; }

}  // namespace support
