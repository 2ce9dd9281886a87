#pragma once

#include "passes/rewriter.h"

namespace tokamak {

/// v in the given shape, if that needs no reshape of a computed value; invalid otherwise.
ValueId freelyReshaped(Rewriter& rewriter, ValueId v, const Shape& shape);

/// The axes under a reshape that a fold of `axes` above it folds; empty when the reshape mixes folded and kept axes.
std::vector<Axis> axesBelow(const Shape& below, const Shape& above, const std::vector<Axis>& axes);

}  // namespace tokamak
