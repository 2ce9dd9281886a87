#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Folds a batch norm with known statistics into the convolution or matrix product before it: with
/// s = weight / sqrt(variance + eps), its filters are scaled by s and its bias becomes (bias - mean) * s + the norm's.
///
///   norm(conv(x, w, b), weight, bias, mean, variance) {kind = batch}   =>   conv(x, w', b')
///
/// Applies when w, b and the norm's operands are constants and nothing else reads the product. Arithmetic is float64,
/// rounded once to the dtype of what it replaces. Runs before decompose, which dissolves norms.
struct FoldBatchNorm {
  static constexpr std::string_view name = "fold-batch-norm";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
