#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "library/library.h"

namespace tokamak::library {

/// Bytes of scratch that a product on a GPU may want at most; the library chooses among algorithms that do with it.
constexpr int64_t kDeviceWorkspaceBytes = 32 << 20;

/// A product on a GPU, ready to be called with any extents, from many threads at once.
class DeviceMatMul {
 public:
  virtual ~DeviceMatMul() = default;
  virtual const MatMulDesc& desc() const = 0;
  /// Scratch that the best algorithm for these extents wants, with buffers as allocators align them.
  virtual Result<int64_t> workspaceBytes(const MatMulDims& dims) const = 0;
  /// Puts the product on a stream of CUDA, by the best algorithm that does with this workspace. Buffers lie on the
  /// device: a, b, [bias], operands of postOps in order, c; c overlaps none of the others. The device's context is
  /// current.
  virtual Result<> run(const MatMulDims& dims, std::span<void* const> buffers, std::span<std::byte> workspace,
                       void* stream) const = 0;
};

struct CublasLtOptions {
  std::string path;  // of libcublasLt itself; empty: looked for in `folders`, then where the system does
  std::vector<std::string> folders;  // that may hold libcublasLt.so.13 and the like, best first
};

/// cuBLASLt, opened at run time: matrix products of any rank and transposition, with a bias, a residual through its
/// operand C and one of ReLU and tanh-GELU applied before the result is stored.
class CublasLt {
 public:
  /// T0703 where there is none: what was looked for, and where.
  static Result<std::shared_ptr<const CublasLt>> open(const CublasLtOptions& options);
  virtual ~CublasLt() = default;

  virtual std::string version() const = 0;  // `cuBLASLt 13.1.0`
  virtual const std::string& path() const = 0;
  /// For the device whose context is current and that has this number.
  virtual Result<std::shared_ptr<const DeviceMatMul>> matmul(const MatMulDesc& desc, int device) const = 0;

  /// Whether dtypes and post-ops can be served: f32, f64, bf16, f16, all operands of one; after the product at most one
  /// bias and one residual, added, then at most one of relu and gelu_tanh.
  static Decision accepts(const MatMulDesc& desc);
};

}  // namespace tokamak::library
