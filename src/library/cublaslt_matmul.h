#pragma once

#include "library/cublaslt.h"
#include "library/cublaslt_api.h"

namespace tokamak::library {

/// T0704 with what was being done and the library's status.
Diagnostic cublasLtError(std::string_view what, lt::Status status);

struct CublasLtHandle {
  CublasLtHandle() = default;
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;
  // Never destroyed: at a process's end CUDA may be gone before it.
  std::shared_ptr<const lt::Api> api;
  lt::Handle handle = nullptr;
};

/// The library is column-major: our row-major c = a*b is its c' = b'*a', with the operands changed about and every
/// matrix seen transposed.
class CublasLtMatMul final : public DeviceMatMul {
 public:
  CublasLtMatMul(std::shared_ptr<const CublasLtHandle> handle, MatMulDesc desc);
  ~CublasLtMatMul() override;

  const MatMulDesc& desc() const override { return desc_; }
  Result<int64_t> workspaceBytes(const MatMulDims& dims) const override;
  Result<> run(const MatMulDims& dims, std::span<void* const> buffers, std::span<std::byte> workspace,
               void* stream) const override;

 private:
  /// Buffers by what the library does with them.
  struct Operands {
    const void *a = nullptr, *b = nullptr, *bias = nullptr, *residual = nullptr;
    void* result = nullptr;
  };
  struct Plan;
  using Key = std::array<int64_t, 6>;  // extents, alignment of all buffers, bytes of workspace

  Operands operandsOf(std::span<void* const> buffers) const;
  Result<std::shared_ptr<Plan>> planFor(const MatMulDims& dims, uint32_t alignment, int64_t workspace) const;
  Result<std::shared_ptr<Plan>> makePlan(const MatMulDims& dims, uint32_t alignment, int64_t workspace) const;

  std::shared_ptr<const CublasLtHandle> handle_;
  MatMulDesc desc_;
  uint32_t epilogue_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::shared_ptr<Plan>> plans_;
};

}  // namespace tokamak::library
