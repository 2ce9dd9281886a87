#pragma once

#include <vector>

#include "support/dim.h"

namespace tokamak {

/// Axes [fromBegin, fromEnd) of one shape and [toBegin, toEnd) of another that hold the same elements in the same
/// order.
struct ReshapeGroup {
  size_t fromBegin, fromEnd, toBegin, toEnd;
};

/// The finest such groups, in order from the last axes to the first: [8, 12, 64] and [96, 64] give {64 | 64}, {8, 12 |
/// 96}.
std::vector<ReshapeGroup> reshapeGroups(const Shape& from, const Shape& to);

}  // namespace tokamak
