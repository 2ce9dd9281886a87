#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace tokamak {

/// Freed with std::free; throws std::bad_alloc.
void* allocateLarge(size_t bytes);

/// Memory for arrays: large ones on 2 MiB pages, since reading weights through 4 KiB pages costs a quarter of the
/// bandwidth.
template <class T>
struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <class U>
  LargePageAllocator(const LargePageAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(allocateLarge(n * sizeof(T))); }
  void deallocate(T* p, size_t) noexcept { std::free(p); }
  bool operator==(const LargePageAllocator&) const { return true; }
};

/// A dense row-major array on the host with 64-byte aligned bytes; what .npy files, constants and the reference
/// evaluator hold. Copying copies the bytes.
class Array {
 public:
  Array() = default;
  Array(DType dtype, std::vector<int64_t> shape);  // zero-filled

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * byteWidth(dtype_); }
  void* data() { return bytes_.data() + offset_; }
  const void* data() const { return bytes_.data() + offset_; }
  template <class T>
  T* as() {
    return static_cast<T*>(data());
  }
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data());
  }

  /// Element access by flat index through float64 or int64, converting as a store of that type does.
  double getDouble(int64_t i) const;
  int64_t getInt(int64_t i) const;
  void setDouble(int64_t i, double v);
  void setInt(int64_t i, int64_t v);

  Array(const Array& other);
  Array& operator=(const Array& other);
  Array(Array&&) noexcept = default;
  Array& operator=(Array&&) noexcept = default;
  /// Same dtype, shape and bits.
  bool operator==(const Array& other) const;

 private:
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
  int64_t size_ = 0;
  size_t offset_ = 0;
  std::vector<std::byte, LargePageAllocator<std::byte>> bytes_;
};

}  // namespace tokamak
