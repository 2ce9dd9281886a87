#pragma once

#include "schedule/gpu/grid.h"

namespace tokamak::schedule::gpu {

/// A copy of the first operand, then, in a second launch, the updates in the order of the index along the scattered
/// axis. Two forms, in which no element is written by two threads, so that the result never depends on timing:
///   columns  points that differ in another axis never meet: a thread takes some of those and all updates of theirs
///   owners   where the index is one for all points of the axes that follow (an embedding's gradient): a block owns
///   some
///            targets and takes the updates that meet them
struct ScatterUpdates {
  static constexpr std::string_view name = "scatter";
  struct Plan {
    int threads = 64;
    int lanes = 1;  // of an update
    int copyLanes = 1;
    int owners = 0;  // of the targets; 0: columns
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

void lowerOwners(Lowering& l, const ScatterUpdates::Plan& plan);

}  // namespace tokamak::schedule::gpu
