#pragma once
/// Memory of the fused kernel.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace gaussflow::direct {

/// Memory on a cache line's boundary, not initialised. Large ones ask for large pages: the caches then hold any part of
/// them without conflicts (3 % at D = C = 128, and runs differ less).
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count = 0) : data_(count == 0 ? nullptr : allocate(count * sizeof(T))) {}
  T* get() const { return data_.get(); }
  T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  static T* allocate(std::size_t bytes) {
    constexpr std::size_t line = 64, large_page = std::size_t(2) << 20;
    const std::size_t boundary = bytes < large_page ? line : large_page;
    void* p = std::aligned_alloc(boundary, (bytes + line - 1) / line * line);
    if (p == nullptr) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    if (boundary == large_page) madvise(p, bytes / large_page * large_page, MADV_HUGEPAGE);  // a wish, not a need
#endif
    return static_cast<T*>(p);
  }
  std::unique_ptr<T, Free> data_;
};

}  // namespace gaussflow::direct
