#pragma once

#include "graph/graph.h"

namespace tokamak {

/// Roughly how many simple vector instructions one element of this op costs (0: a view or a constant).
int64_t opWeight(const Node& node);

/// Ops that move no data and cost nothing wherever they stand: constants of one value, iota, views. Each reader
/// computes its own.
bool isFree(const Op& op);

}  // namespace tokamak
