#pragma once

#include "schedule/gpu/grid.h"

namespace tokamak::schedule::gpu {

/// Products and convolutions in plain kernels, for what no library serves; pointwise work that follows is done before
/// the result is stored. A product goes by tiles of the result, a block each, with tiles of the operands in shared
/// memory; a convolution by elements. Kernels on tensor cores would be schedulers of their own, asked before this one.
struct Contract {
  static constexpr std::string_view name = "contract";
  struct Plan {
    int tile = 64;   // side of a block's tile of the product
    int depth = 16;  // of the operands' tiles
    int side = 4;    // of a thread's part
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule::gpu
