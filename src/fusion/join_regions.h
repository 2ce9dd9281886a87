#pragma once

#include "fusion/region.h"

namespace tokamak {

/// Joins regions that the partition kept apart, where the machine can run them as one.
///
/// Regions that fold the rows of a domain with regions that fold its columns: one pass takes each row through its own
/// folds and adds it to what is carried for the columns, which a second, small launch finishes. So the gradients of a
/// normalisation's weights cost no pass of their own:
///
///   reduce over axis 1 of [M, N], storing dx;  reduce over axis 0 of [M, N], storing dw and db
///     =>  reduce over axis 1 with across = [dw, db]
///
/// where the machine can carry columns (machine.maxAcross), rows are of known length and the second region needs
/// nothing of the first but what it computes on the way.
///
/// Regions of folds with regions of folds that make pairs with them (machine.pairsFolds): a mean and a variance of rows
/// too long to be held are read once.
///
/// Small pointwise regions that differ in what they read alone, and of which none has to wait for another: the
/// rotations of queries and keys are one kernel.
///
/// Regions stay in an order in which producers run first. `edges` that no longer cross between regions are fused.
void joinRegions(const Graph& graph, const FusionOptions& options, FusionPlan& plan, std::vector<LedgerEdge>& edges);

/// By value: whether it is one of the region's folds across or depends on one, so that it is known only at the end.
std::vector<bool> afterAcross(const Graph& graph, const Region& region);

}  // namespace tokamak
