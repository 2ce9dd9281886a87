#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory_pool.h"
#include "support/array.h"
#include "support/dtype.h"
#include "support/kernel_abi.h"

namespace tokamak::runtime {

/// A tensor somebody else owns, as DLPack describes one: `shape` and `strides` (in elements; null means dense
/// row-major) are borrowed and must outlive the call. Strides may be zero or negative.
struct TensorRef {
  void* data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;

  std::span<const int64_t> extents() const { return {shape, static_cast<size_t>(rank)}; }
  int64_t size() const;  // elements
  int64_t bytes() const { return size() * byteWidth(dtype); }
  /// Dense row-major; strides of axes of extent 1 do not matter, nor do any of an empty tensor.
  bool contiguous() const;
  std::string str() const;  // `f32[2, 3]`
};

/// A dense tensor in a block of the pool, to which it returns when the tensor dies.
class Tensor {
 public:
  Tensor() = default;
  Tensor(PoolBlock block, DType dtype, std::vector<int64_t> shape)
      : block_(std::move(block)), dtype_(dtype), shape_(std::move(shape)) {}

  void* data() const { return block_.data(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(block_.data());
  }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return ref().size(); }
  int64_t bytes() const { return ref().bytes(); }
  TensorRef ref() const { return {block_.data(), dtype_, static_cast<int>(shape_.size()), shape_.data(), nullptr}; }
  /// For DLPack: takes the block out; the tensor is empty afterwards.
  PoolBlock takeBlock() { return std::move(block_); }

 private:
  PoolBlock block_;
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
};

/// An array's memory as a tensor: borrowed, and to be read only.
TensorRef refTo(const Array& array);
/// The elements in memory of their own.
Array copyOf(const Tensor& tensor);

/// Copies `from` (any strides) into dense row-major memory at `to`. The two do not overlap.
void copyDense(const TensorRef& from, void* to, const KernelHost& host);

}  // namespace tokamak::runtime
