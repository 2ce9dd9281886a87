#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fusion/paths.h"
#include "fusion/region.h"
#include "support/decision.h"

namespace tokamak {

/// Regions while they grow. Nodes come in graph order; each joins regions of its producers, a region that reads what it
/// reads, or founds its own. Keeps, for every region, which regions it depends on, so that no cycle arises.
class Partition {
 public:
  Partition(const Graph& graph, const FusionOptions& options);

  struct Draft {
    RegionKind kind = RegionKind::pointwise;
    Shape domain;
    std::vector<Axis> folded;
    std::vector<ValueId> members;
    int64_t weight = 0;
    int64_t escapes = 0;  // reads of members from outside, graph outputs included
    bool split = false;   // few rows, long folds: no second sweep
    bool alive = true;
    Tier tier = Tier::kernel;
    ValueId contraction;
    std::vector<EpilogueStep> epilogue;
    std::vector<uint64_t> ancestors;  // bit set of drafts
  };

  /// Why node `v` may or may not become a member of draft `d`, met through `source`.
  Decision admits(size_t d, ValueId v, const Source& source, std::string* rule) const;
  Decision mergeable(size_t a, size_t b) const;

  size_t found(ValueId v);        // a new draft
  void add(size_t d, ValueId v);  // v becomes a member
  void merge(size_t into, size_t from);
  void depend(size_t d, size_t on);           // d reads what `on` stores
  bool dependsOn(size_t d, size_t on) const;  // directly or not
  /// Whether v, which reads drafts `producers`, can become a member of d without a cycle.
  bool acyclic(size_t d, const std::vector<size_t>& producers) const;

  std::vector<Draft> drafts;
  std::vector<int64_t> draftOf;               // by value; -1: none
  std::vector<bool> isView;                   // by value: a free op that no one needs in memory
  std::vector<std::vector<ValueId>> readers;  // by value: compute nodes that read it, through views
  std::vector<bool> isOutput;                 // by value: returned by the graph (through no view)
  std::vector<bool> stored;                   // by value: sure to be in memory

 private:
  void findViews();
  const Graph& graph_;
  const FusionOptions& options_;
};

}  // namespace tokamak
