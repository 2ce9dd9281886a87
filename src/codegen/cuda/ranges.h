#pragma once

#include <vector>

#include "codegen/cuda/emit.h"

namespace tokamak::codegen::cuda {

/// What is known of an integer expression's values, in every lane, wherever it is evaluated.
struct Range {
  int64_t low = INT64_MIN, high = INT64_MAX;
  /// Made of symbols, loop variables and numbers alone. Such arithmetic counts elements or addresses them, so that it
  /// never overflows; what comes from memory may be anything, and wraps.
  bool isIndex = false;
  int64_t multiple = 1;  // a power of two that divides every value (of the first lane, for lanes that count up)

  bool fitsInt() const { return low >= INT32_MIN && high <= INT32_MAX; }
};

/// Ranges of all integer expressions of a kernel, by expression. Mutable variables may hold anything.
std::vector<Range> rangesOf(const kernel::Kernel& kernel, const Assumptions& assumptions);

}  // namespace tokamak::codegen::cuda
