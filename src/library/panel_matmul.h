#pragma once

#include "library/onednn_matmul.h"
#include "library/panel_call.h"

namespace tokamak::library {

/// Products in f32 by our own code (library/panel_product.h), which begins new sums more often than eager does and is
/// as fast as oneDNN's, faster for small ones. The first post-ops are applied to tiles of the result as they are made
/// (see TileOps); what else comes after it is one pass of oneDNN's. Empty products, post-ops for which oneDNN has only
/// slow code, and batches whose sums are short go to its matmul.
class PanelMatMul final : public MatMulCall {
 public:
  /// `whole` is the same product by oneDNN.
  PanelMatMul(std::shared_ptr<const OneDnn> lib, std::shared_ptr<const MatMulCall> whole);

  static bool accepts(const MatMulDesc& desc);
  /// Whether no pass over the result is wanted.
  static bool appliesAll(const MatMulDesc& desc);

  const MatMulDesc& desc() const override { return whole_->desc(); }
  Result<> prepare(const MatMulDims& dims) const override;
  Result<> run(const MatMulDims& dims, std::span<void* const> buffers) const override;
  Result<std::string> implementation(const MatMulDims& dims) const override;

 private:
  struct Prepared {
    bool byPanels = true;
    std::unique_ptr<Primitive> postOps;  // none where there are none
  };
  Result<std::shared_ptr<const Prepared>> find(const MatMulDims& dims) const;
  Result<std::shared_ptr<const Prepared>> make(const MatMulDims& dims) const;
  Result<> runPostOps(const Primitive& primitive, std::span<void* const> operands, void* result) const;

  std::shared_ptr<const OneDnn> lib_;
  std::shared_ptr<const MatMulCall> whole_;
  TileOps tileOps_;
  std::vector<PostOp> postOps_;  // the others as oneDNN gets them, the first of them one with an operand
  bool timesOne_ = false;        // the first is there for that
  Recent<MatMulDims, Prepared> prepared_;
  PackedPanels packed_;
};

}  // namespace tokamak::library
