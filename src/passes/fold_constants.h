#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Evaluates what is known when compiling, with the reference evaluator.
///
///   %0 = full {value = 64.0} : f32[]
///   %1 = rsqrt %0 : f32[]          =>     %0 = full {value = 0.125} : f32[]
///
/// Elementwise ops, folds and shape ops on `full` operands give a `full`, whatever the shape. Other ops fold when every
/// operand is known, one is a constant, and no operand or result has more than `limit` elements; what repeats
/// (broadcast) or counts (iota) stays as it is, since computing it costs less than loading it, and so does a transpose
/// for a product, which multiplies a few rows best with weights as a linear layer has them. Results are rounded to
/// their dtype; a half-precision result that is not exact stays unfolded, because a fused kernel would keep it in f32.
struct FoldConstants {
  static constexpr std::string_view name = "fold-constants";
  int64_t limit = 4096;

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
