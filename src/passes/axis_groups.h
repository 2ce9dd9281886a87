#pragma once

#include <optional>
#include <vector>

#include "graph/type.h"

namespace tokamak {

/// Neighbouring axes of one shape that a row-major reshape turns into neighbouring axes of another: same product of
/// extents, and no smaller pair at its start has that.
struct AxisGroup {
  std::vector<Axis> from, to;
  bool operator==(const AxisGroup&) const = default;
};

/// The groups of a reshape, in order. Axes whose extent is the constant 1 belong to none.
///
///   [B, S, 768] to [B*S, 12, 64]   gives   {0 1 -> 0}, {2 -> 1 2}
///
/// Nothing when an extent is 0 or the shapes do not fall apart (as polynomials in their symbols).
std::optional<std::vector<AxisGroup>> axisGroups(const Shape& from, const Shape& to);

}  // namespace tokamak
