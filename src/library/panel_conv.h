#pragma once

#include "library/panel_call.h"

namespace tokamak::library {

/// Convolutions in f32 with channels last by our own code: a product of what the image shows and the weights, whose
/// sums are as short as those of our matrix products, with all that comes after it applied to tiles as they are made.
/// Weights of more than one tap are packed first, at every call where they are not constant. Images of very few
/// channels and empty ones go to oneDNN, and so do weights that are not finite.
class PanelConv final : public ConvCall {
 public:
  /// `whole` is the same convolution by oneDNN.
  PanelConv(std::shared_ptr<const OneDnn> lib, std::shared_ptr<const ConvCall> whole);

  static bool accepts(const ConvDesc& desc);

  const ConvDesc& desc() const override { return whole_->desc(); }
  Result<> prepare(const ConvDims& dims) const override;
  Result<> run(const ConvDims& dims, std::span<void* const> buffers) const override;
  Result<std::string> implementation(const ConvDims& dims) const override;

 private:
  bool byPanels(const ConvDims& dims) const;

  std::shared_ptr<const OneDnn> lib_;
  std::shared_ptr<const ConvCall> whole_;
  TileOps tileOps_;
  PackedPanels packed_;
};

}  // namespace tokamak::library
