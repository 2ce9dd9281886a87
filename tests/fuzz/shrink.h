#pragma once

#include <functional>

#include "graph/graph.h"

namespace tokamak::fuzz {

/// A smaller graph for which `stillFails` holds, as it does for `graph`: drops outputs, cuts the graph short, replaces
/// nodes by operands, inputs or constants of the same type, and symbols by small numbers, until nothing more goes.
/// Every graph that is tried verifies. Deterministic if `stillFails` is.
Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& stillFails);

/// The graph without nodes that no output needs. Inputs stay.
Graph withoutDeadNodes(const Graph& graph);

}  // namespace tokamak::fuzz
