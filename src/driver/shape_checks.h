#pragma once

#include "graph/graph.h"
#include "runtime/program.h"

namespace tokamak {

/// What the verifier could not prove of a graph's symbolic extents: that a reshape keeps the element count, that a
/// slice or an index stays within its operand.
std::vector<runtime::ShapeCheck> shapeChecks(const Graph& graph);

}  // namespace tokamak
