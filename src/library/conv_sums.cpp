#include "library/conv_sums.h"

#include <algorithm>

namespace tokamak::library {

namespace {

constexpr int64_t kBlock = 16;              // channels of a block
constexpr int64_t kPartChannels = 32;       // that a part adds up one after another
constexpr int64_t kSmallImages = 1 << 20;   // bytes that are reordered in no time
constexpr int64_t kTinyImages = 128 << 10;  // the same of kernels of one element, whose sums differ only there
constexpr int64_t kManyChannels = 256;      // from which on the arithmetic outweighs any reordering
constexpr int64_t kMaxParts = 8;

bool canBeCut(const ConvDesc& desc) {
  const auto isSum = [](const PostOp& op) { return op.kind == PostOpKind::sum; };
  return desc.channelsLast && std::ranges::none_of(desc.postOps, isSum);
}

}  // namespace

ConvSums planSums(const ConvDesc& desc, const ConvDims& dims) {
  int64_t taps = 1, read = dims.batch * dims.channels, written = dims.batch * dims.outChannels;
  for (int axis = 0; axis < desc.spatialRank; ++axis)
    taps *= dims.kernel[axis], read *= dims.input[axis], written *= convExtent(desc, dims, axis);
  if (desc.dtype != DType::f32 || desc.groups > 1 || dims.channels < 2 * kBlock) return {};
  const int64_t bytes = 4 * (read + written);
  if (taps == 1) return {.blocks = bytes <= kTinyImages};
  if (bytes <= kSmallImages || dims.channels >= kManyChannels) return {.blocks = true};
  if (!canBeCut(desc)) return {};
  for (int64_t parts = 2; parts <= kMaxParts; ++parts)
    if (dims.channels % (parts * kBlock) == 0 && dims.channels / parts <= kPartChannels) return {.parts = parts};
  return {};
}

ConvDesc partOf(const ConvDesc& desc, int64_t index, int64_t count) {
  ConvDesc part = desc;
  const int last = desc.spatialRank - 1;
  part.stride[last] *= count, part.dilation[last] *= count;
  part.low[last] *= count, part.high[last] *= count;
  if (index + 1 < count) part.bias = false, part.postOps.clear();
  if (index > 0) part.postOps.insert(part.postOps.begin(), PostOp{.kind = PostOpKind::sum});
  return part;
}

ConvDims partOf(const ConvDesc& desc, ConvDims dims, int64_t count) {
  dims.channels /= count;
  dims.input[desc.spatialRank - 1] *= count;
  return dims;
}

}  // namespace tokamak::library
