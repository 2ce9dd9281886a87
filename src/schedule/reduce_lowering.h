#pragma once

#include "schedule/fold_state.h"
#include "schedule/phases.h"
#include "schedule/reduce.h"

namespace tokamak::schedule {

/// A reduce region's axes after collapsing, and places in it.
struct FoldDomain {
  std::vector<LoopAxis> groups;
  std::vector<bool> folded;  // a group each
  std::vector<size_t> keptGroups, foldedGroups;
  Dim foldedCount;           // elements a fold takes in
  bool vectorFolded = true;  // the last group is folded
  AccessMap accesses;        // of all that is loaded

  /// Extents of these groups.
  std::vector<Dim> extents(const std::vector<size_t>& which) const;
};
FoldDomain foldDomain(const Lowering& l);

/// Place of kept-level values given a place of the domain: the folded axes dropped.
At keptAt(const Region& region, const At& full);

void lowerRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);
void lowerColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);
void lowerSplitRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);
void lowerSplitColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);

/// Whether a sweep adds up floats and folds nothing else: sums whose digits are kept by adding up partial ones in f64.
bool addsFloats(const Graph& graph, const Sweep& sweep);
/// Binds `fold`'s result for readers in this kernel.
void bindFold(Lowering& l, ValueId fold, ExprId folded, ExprId position, const Dim& count);
/// Folds the results of a row's pieces, which stand one after another from `first` on, and binds the fold.
void combinePieces(Lowering& l, ValueId fold, BufferId value, BufferId where, ExprId first, const Dim& pieces,
                   const Dim& count);
/// Stores the kept-level outputs.
void storeKept(Lowering& l, const At& kept);

}  // namespace tokamak::schedule
