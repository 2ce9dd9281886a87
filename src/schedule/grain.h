#pragma once

#include <algorithm>
#include <cstdint>

namespace tokamak::schedule {

/// How many iterations of a parallel loop are worth a thread, for iterations of `elements` elements that cost `weight`
/// simple operations each: some five microseconds of work. To wake a thread and wait for it takes one or two where
/// cores are free, and as long as others keep them where they are not, so that small kernels run on the caller's
/// thread.
inline int64_t worthAThread(double weight, double elements) {
  constexpr double kWork = 400000;     // element operations, vectors of 16
  constexpr double kLoadAndStore = 8;  // of an element, in operations
  return std::max<int64_t>(1, static_cast<int64_t>(kWork / ((weight + kLoadAndStore) * std::max(1.0, elements))));
}

}  // namespace tokamak::schedule
