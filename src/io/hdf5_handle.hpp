#pragma once
/// HDF5's C library behind handles that close themselves and errors that are text. Nothing outside src/io includes this.

#define H5_USE_110_API  // the same calls on 1.10, 1.12 and 1.14
#include <hdf5.h>

#include <string>
#include <utility>

namespace gaussflow::io::hdf5 {

/// Once, before any other call: no printing, no plugins, no exit handler (it crashes after a failed close).
void prepare_library();

/// What the library said last, its innermost reason, and forgets it.
std::string last_error();

/// An identifier with the call that closes it. A failed opening is kept as a negative identifier for the caller to report.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  operator hid_t() const { return id_; }
  bool valid() const { return id_ >= 0; }
  /// False when the library could not write what it still held.
  bool close() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// File access without HDF5's own locks (the run directory has one) that closes whatever is still open in the file.
Handle file_access();

/// A simple dataspace; rank 0 is a scalar.
Handle dataspace(int rank, const hsize_t* shape);

}  // namespace gaussflow::io::hdf5
