#pragma once

#include <algorithm>
#include <memory>

#include "library/onednn_primitive.h"
#include "library/post_op.h"

namespace tokamak::library {

/// Whether oneDNN's code for one of them is wrong where a value is huge or infinite: gelu_erf gives NaN for infinity
/// and infinity for what is above 2^127.
inline bool failsOnHuge(std::span<const PostOp> postOps) {
  return std::ranges::any_of(postOps, [](const PostOp& op) { return op.kind == PostOpKind::gelu_erf; });
}

inline ResultBlocks resultBlocks(const MatMulDesc& desc, const MatMulDims& dims) {
  return {dims.batch * dims.m, dims.n, 1, desc.c, desc.biasType};
}
inline ResultBlocks resultBlocks(const ConvDesc& desc, const ConvDims& dims) {
  int64_t plane = 1;
  for (int axis = 0; axis < desc.spatialRank; ++axis) plane *= convExtent(desc, dims, axis);
  const bool last = desc.channelsLast;
  return {last ? dims.batch * plane : dims.batch, dims.outChannels, last ? 1 : plane, desc.dtype, desc.biasType};
}

/// The old result is gone by the time it is looked at again.
inline bool cannotMend(std::span<const PostOp> postOps) {
  return failsOnHuge(postOps) &&
         std::ranges::any_of(postOps, [](const PostOp& op) { return op.kind == PostOpKind::sum; });
}

/// The product alone, as it is needed now and then: without a packed copy of its weights.
inline MatMulDesc withoutPostOps(MatMulDesc desc) {
  desc.postOps.clear();
  desc.constantB = false;
  return desc;
}
inline ConvDesc withoutPostOps(ConvDesc desc) {
  desc.postOps.clear();
  desc.constantWeights = false;
  return desc;
}

/// A call whose post-ops fail on huge values, made right: a result that is not finite everywhere is looked at again,
/// with the product computed once more without post-ops. Finite results keep their bits and cost one read.
template <class Call, class Desc, class Dims>
class MendedCall final : public Call {
 public:
  /// `plain` is the same product without post-ops.
  MendedCall(std::shared_ptr<const Call> fast, std::shared_ptr<const Call> plain)
      : fast_(std::move(fast)), plain_(std::move(plain)) {}

  const Desc& desc() const override { return fast_->desc(); }
  Result<> prepare(const Dims& dims) const override { return fast_->prepare(dims); }
  Result<std::string> implementation(const Dims& dims) const override { return fast_->implementation(dims); }

  Result<> run(const Dims& dims, std::span<void* const> buffers) const override {
    TK_RETURN_IF_ERROR(fast_->run(dims, buffers));
    const ResultBlocks shape = resultBlocks(desc(), dims);
    if (allFinite(buffers.back(), shape.result, shape.elements())) return Unit{};
    const PackedMemory product(shape.elements() * byteWidth(shape.result));
    if (!product.data()) return oneDnnError("product of huge values", dnnl_out_of_memory);
    const size_t first = desc().bias ? 3 : 2;
    std::vector<void*> given(buffers.begin(), buffers.begin() + static_cast<int64_t>(first));
    given.push_back(product.data());
    TK_RETURN_IF_ERROR(plain_->run(dims, given));
    mendNonFinite(shape, product.data(), desc().postOps, buffers.subspan(first, buffers.size() - first - 1),
                  buffers.back());
    return Unit{};
  }

 private:
  std::shared_ptr<const Call> fast_, plain_;
};

}  // namespace tokamak::library
