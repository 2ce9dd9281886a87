#pragma once

#include "sparse/stream/graph.h"

namespace tokamak::stream::sam {

/// The same graph in blocks that the exchange format has, as far as it has any: streams keep their ids, so what a node
/// of the result was can be told by its outputs.
///
///   pow x, 2                 mul x, x
///   sub 1, x                 x * -1 + 1
///   lt x, y                  max(2 * sigmoid(1e38 * (y - x)) - 1, 0): 1 where x is smaller, else 0
///   select c, a, b           c * a + (1 - c) * b
///   reduce min x             -(reduce max -x)
///   locate below a position  a scan of the dense level, intersected
///
/// Numbers are the same but for rounding where operands are finite and differences are 0 or above 1e-36.
Graph expressed(const Graph& graph);

}  // namespace tokamak::stream::sam
