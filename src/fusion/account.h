#pragma once

#include "fusion/region.h"

namespace tokamak {

/// The ledger of a plan: bytes and predicted time of its regions and edges. `edges` are those the planner decided,
/// between compute nodes; edges into and out of views are derived from them.
Ledger writeLedger(const Graph& graph, const FusionOptions& options, const FusionPlan& plan,
                   const std::vector<LedgerEdge>& edges, const std::vector<bool>& isView);

}  // namespace tokamak
