#pragma once

#include <vector>

#include "fusion/region.h"

namespace tokamak {

/// Whether a product is better served by the library than by a kernel of our own: a dtype it has, and more rows than a
/// matrix-vector product (which is bound by reading the weights, where a fold does as well).
bool servedByLibrary(const Graph& graph, ValueId product, const FusionOptions& options);

/// The longest chain of steps after a product that a library call can apply before storing: a bias, an activation
/// (found also when written out in primitives), a sum or product with another tensor. Each value on the way has no
/// other reader and need not be in memory (`stored`) for another reason, as for a result that is a reshape of it.
std::vector<EpilogueStep> matchEpilogue(const Graph& graph, ValueId product,
                                        const std::vector<std::vector<ValueId>>& readers,
                                        const std::vector<bool>& stored, const FusionOptions& options);

/// The compute nodes between `from` (excluded) and `to` (included).
std::vector<ValueId> epilogueNodes(const Graph& graph, ValueId from, ValueId to);

}  // namespace tokamak
