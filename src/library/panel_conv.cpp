#ifdef TOKAMAK_HAS_ONEDNN
#include "library/panel_conv.h"

#include <algorithm>

#include "library/product_sums.h"

namespace tokamak::library {

namespace {

constexpr int64_t kShortRun = 8;  // elements that follow one another in an image

PanelImage imageOf(const ConvDesc& desc, const ConvDims& dims) {
  PanelImage out{.channels = dims.channels};
  for (int axis = 0; axis < desc.spatialRank; ++axis) {
    const int to = 3 - desc.spatialRank + axis;
    out.input[to] = dims.input[axis], out.kernel[to] = dims.kernel[axis];
    out.output[to] = convExtent(desc, dims, axis);
    out.stride[to] = desc.stride[axis], out.dilation[to] = desc.dilation[axis], out.low[to] = desc.low[axis];
  }
  return out;
}

int64_t places(const PanelImage& image) { return image.output[0] * image.output[1] * image.output[2]; }

/// Whether the image itself is the matrix.
bool isMatrix(const PanelImage& image) {
  return image.taps() == 1 && image.stride == std::array<int64_t, 3>{1, 1, 1} && image.input == image.output;
}

}  // namespace

PanelConv::PanelConv(std::shared_ptr<const OneDnn> lib, std::shared_ptr<const ConvCall> whole)
    : lib_(std::move(lib)), whole_(std::move(whole)), tileOps_(desc().postOps) {}

bool PanelConv::accepts(const ConvDesc& desc) {
  return hasPanelProduct() && desc.dtype == DType::f32 && desc.channelsLast && desc.groups == 1 &&
         (!desc.bias || desc.biasType == DType::f32) && TileOps(desc.postOps).count == desc.postOps.size();
}

bool PanelConv::byPanels(const ConvDims& dims) const {
  if (dims.batch <= 0 || dims.outChannels <= 0) return false;
  const int last = desc().spatialRank - 1;
  if (dims.channels * (desc().dilation[last] == 1 ? dims.kernel[last] : 1) < kShortRun) return false;
  bool padded = false;
  for (int axis = 0; axis < desc().spatialRank; ++axis)
    if (dims.input[axis] <= 0 || dims.kernel[axis] <= 0 || convExtent(desc(), dims, axis) <= 0) return false;
  for (int axis = 0; axis < desc().spatialRank; ++axis) padded |= desc().low[axis] != 0 || desc().high[axis] != 0;
  return !padded || imageOf(desc(), dims).taps() > 1;  // one element's weights are not looked at
}

Result<> PanelConv::prepare(const ConvDims& dims) const { return byPanels(dims) ? Unit{} : whole_->prepare(dims); }

Result<std::string> PanelConv::implementation(const ConvDims& dims) const {
  if (!byPanels(dims)) return whole_->implementation(dims);
  return panelName(dims.channels * imageOf(desc(), dims).taps());
}

Result<> PanelConv::run(const ConvDims& dims, std::span<void* const> buffers) const {
  if (!byPanels(dims)) return whole_->run(dims, buffers);
  const PanelImage image = imageOf(desc(), dims);
  const int64_t k = dims.channels * image.taps();
  PanelProduct product{.m = dims.batch * places(image),
                       .n = dims.outChannels,
                       .k = k,
                       .a = static_cast<const float*>(buffers[0]),
                       .b = static_cast<const float*>(buffers[1]),
                       .bias = desc().bias ? static_cast<const float*>(buffers[2]) : nullptr,
                       .image = isMatrix(image) ? nullptr : &image,
                       .c = static_cast<float*>(buffers.back()),
                       .strideA = k,
                       .strideB = k,
                       .transposeB = true,
                       .length = panelLength(k)};
  tileOps_.addTo(product, buffers.subspan(desc().bias ? 3 : 2));
  const KernelHost& host = panelHost(*lib_);
  const ScratchLease scratch(lib_->scratch(), PackedPanels::scratchBytes(product, desc().constantWeights));
  TK_TRY(const bool finite, packed_.giveTo(product, desc().constantWeights, scratch.data(), host));
  if (!finite) return whole_->run(dims, buffers);
  runPanelProduct(product, host);
  return Unit{};
}

}  // namespace tokamak::library
#endif
