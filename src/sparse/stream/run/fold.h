#pragma once

#include <limits>

#include "sparse/stream/node.h"

namespace tokamak::stream {

constexpr double foldIdentity(FoldOp op) {
  switch (op) {
    case FoldOp::add: return 0.0;
    case FoldOp::max: return -std::numeric_limits<double>::infinity();
    case FoldOp::min: return std::numeric_limits<double>::infinity();
    case FoldOp::mul: return 1.0;
  }
  return 0.0;
}

/// Maximum and minimum keep NaN.
template <FoldOp op>
inline double fold(double a, double b) {
  if constexpr (op == FoldOp::add) return a + b;
  if constexpr (op == FoldOp::mul) return a * b;
  if constexpr (op == FoldOp::max) return a > b || a != a ? a : b;
  if constexpr (op == FoldOp::min) return a < b || a != a ? a : b;
}

}  // namespace tokamak::stream
