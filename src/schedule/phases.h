#pragma once

#include <vector>

#include "fusion/fold_pairs.h"
#include "fusion/region.h"
#include "graph/graph.h"

namespace tokamak::schedule {

/// One sweep over the folded axes: the reductions it computes, and the full-level outputs it stores.
struct Sweep {
  std::vector<ValueId> folds;
  std::vector<FoldPair> pairs;  // among them
  std::vector<ValueId> stores;
  std::vector<ValueId> keeps;      // full-level values computed here and kept aside for later sweeps
  std::vector<ValueId> across;     // folds over the kept axes that take what is computed here; in the last sweep
  std::vector<ValueId> rowValues;  // kept-level values that become known after it, in order
  int64_t weight = 0;              // element operations at full level
};

/// The sweeps a reduce region needs, in order. A reduction comes after those it depends on; values that are dear and
/// wanted again by a later sweep are kept (`keep`) or else computed again.
struct Phases {
  std::vector<Sweep> sweeps;
};
/// `pairs`: folds that make one (FoldPair) go in one sweep. `early`: outputs are stored by the first sweep that can
/// compute them, rather than all by one after the folds.
Phases planPhases(const Graph& graph, const Region& region, bool keep, bool pairs = false, bool early = false);

/// Whether a value of a region has the shape of the domain (full) rather than of the kept axes.
bool isFull(const Graph& graph, const Region& region, ValueId v);

}  // namespace tokamak::schedule
