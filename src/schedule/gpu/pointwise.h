#pragma once

#include "schedule/gpu/grid.h"

namespace tokamak::schedule::gpu {

/// One pass over the domain in its own order. A block takes a tile of consecutive elements, a thread some vectors of
/// it, a block's width apart, all of whose values are computed before the first is stored: so their loads are in flight
/// together. Vectors lie where memory has its 16-byte borders, also where that makes them run over the end of a row.
/// Values that lie across the vectors (a transposed operand) come through tiles in shared memory.
struct Pointwise {
  static constexpr std::string_view name = "pointwise";
  struct Plan {
    int threads = 256;
    int lanes = 4;           // of a vector
    int vectors = 4;         // a thread
    bool straddles = false;  // a vector may cross from one row to the next
    /// Sides of the tiles in shared memory through which values that lie across come: along the domain's last axis,
    /// along theirs; 0: there are none.
    int64_t tile = 0, tileAcross = 0;
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName,
                  std::shared_ptr<RegionMemory> memory = std::make_shared<RegionMemory>()) const;
};

/// Writes `body` for the places of a tile, a few vectors a thread, with the loads that lie across brought through
/// shared memory.
void lowerTiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups,
                const Pointwise::Plan& plan, const std::function<void(const std::vector<At>&)>& body);

}  // namespace tokamak::schedule::gpu
