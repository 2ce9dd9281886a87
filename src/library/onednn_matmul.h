#pragma once

#include "library/onednn_primitive.h"
#include "library/recent.h"

namespace tokamak::library {

/// One b for the whole batch: the batch is more rows.
MatMulDims collapsed(const MatMulDesc& desc, MatMulDims dims);

class OneDnnMatMul final : public MatMulCall {
 public:
  OneDnnMatMul(std::shared_ptr<const OneDnn> lib, MatMulDesc desc);

  /// Whether oneDNN has code for this on this machine, seen on sample extents.
  static Decision accepts(const std::shared_ptr<const OneDnn>& lib, const MatMulDesc& desc);

  const MatMulDesc& desc() const override { return desc_; }
  Result<> prepare(const MatMulDims& dims) const override;
  Result<> run(const MatMulDims& dims, std::span<void* const> buffers) const override;
  /// The implementation chosen for these extents, for tests and reports.
  Result<std::string> implementation(const MatMulDims& dims) const override;

 private:
  /// The product over `length` of the k, or over all of it.
  struct Part {
    std::unique_ptr<Primitive> primitive;
    MemoryDesc plainB{nullptr, nullptr};
    bool packed = false;  // b, once and for all
  };
  struct Prepared {
    int64_t length = 0;                              // of a part
    std::vector<std::shared_ptr<const Part>> parts;  // in order; equal ones are one
    int64_t scratchBytes = 0;
  };
  struct Layout {
    int64_t n, k;
    MemoryDesc desc;
  };

  Result<std::shared_ptr<const Prepared>> find(const MatMulDims& dims) const;
  Result<std::shared_ptr<const Prepared>> make(const MatMulDims& dims) const;
  Result<std::shared_ptr<const Part>> makePart(const MatMulDims& dims, int64_t k, bool first, bool last) const;
  Result<MemoryDesc> weightsDesc(const MatMulDims& dims, std::span<const int64_t> shape,
                                 std::span<const int64_t> strides) const;
  Result<> runPart(const Part& part, std::span<void* const> addresses, std::byte* scratch) const;
  void rememberLayout(const MatMulDims& dims, const_dnnl_memory_desc_t desc) const;

  std::shared_ptr<const OneDnn> lib_;
  MatMulDesc desc_;
  std::vector<PostOp> postOps_;  // as oneDNN gets them
  Recent<MatMulDims, Prepared> prepared_;
  PackedWeights weights_;
  mutable std::mutex layoutsMutex_;
  mutable std::vector<Layout> layouts_;  // in which b was packed so far
};

}  // namespace tokamak::library
