#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Folds a batch norm with known statistics and the bias of the convolution or matrix product before it into one factor
/// and one summand a channel: with s = weight / sqrt(variance + eps), those are s and (bias - mean) * s + the norm's.
///
///   norm(conv(x, w, b), weight, bias, mean, variance) {kind = batch}   =>   conv(x, w) * s + t
///
/// Applies when b and the norm's operands are constants, nothing else reads the product and it is no half, whose bias
/// is rounded with it. Arithmetic is float64, rounded once. Filters are not scaled: rounding them anew puts the same
/// error into every element of a channel, which no mean over elements takes out again, and a library multiplies its
/// result for nothing. Runs before decompose, which dissolves norms.
struct FoldBatchNorm {
  static constexpr std::string_view name = "fold-batch-norm";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
