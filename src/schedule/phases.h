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

/// The sweeps a reduce region needs, in order. A reduction comes after those it depends on.
struct Phases {
  std::vector<Sweep> sweeps;
};
struct PhaseRules {
  bool keep = false;   // values that are dear and wanted again by a later sweep are kept, not computed again
  bool pairs = false;  // folds that make one (FoldPair) go in one sweep
  bool early = false;  // outputs are stored by the first sweep that can compute them, not all after the folds
  /// A value that a later sweep wants again is kept if it takes no more room than the inputs that are wanted for it
  /// alone: the sum of two halves, instead of both.
  bool instead = false;
};
Phases planPhases(const Graph& graph, const Region& region, const PhaseRules& rules = {});

/// Whether a value of a region has the shape of the domain (full) rather than of the kept axes.
bool isFull(const Graph& graph, const Region& region, ValueId v);

}  // namespace tokamak::schedule
