#pragma once

#include <optional>

#include "fusion/region.h"

namespace tokamak {

/// Two folds that one sweep can take though the second needs what the first gives.
struct FoldPair {
  enum class Kind : uint8_t {
    moments,      // the mean of x, and the sum or mean of (x - mean)^2
    exponentials  // the largest x, and the sum of exp(x - largest)
  } kind = Kind::moments;
  ValueId first, second;
  ValueId x;  // what the first folds
};

/// The pair whose second is the fold v, if v folds (x - p)^2 or exp(x - p) where p is the mean or the largest of x over
/// the same axes.
std::optional<FoldPair> pairEndingIn(const Graph& graph, ValueId v);

}  // namespace tokamak
