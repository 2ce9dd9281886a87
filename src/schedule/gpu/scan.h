#pragma once

#include "schedule/gpu/grid.h"

namespace tokamak::schedule::gpu {

/// A running fold along one axis with pointwise work before and after it. Along the last axis some threads take a row,
/// as much of it at a time as they have lanes: prefixes run over the lanes, then over the threads of a warp, then over
/// the warps, and what was found is carried on. Along another axis every lane carries its own column.
struct RunningFold {
  static constexpr std::string_view name = "scan";
  struct Plan {
    bool along = true;
    int threads = 128;  // of a row; of a block where lanes carry columns
    int rows = 1;       // of a block
    int lanes = 4;
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule::gpu
