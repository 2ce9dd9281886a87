#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// One pass over the domain in vectors along its last axis. Values that lie across the vectors (a transposed operand)
/// are brought through tiles in cache.
struct Pointwise {
  static constexpr std::string_view name = "pointwise";
  struct Plan {
    int wide = 16, narrow = 16;  // lanes
    int64_t grain = 1;           // iterations of the parallel loop a thread must have
    int64_t chunk = 0;           // elements of the last axis a parallel iteration takes; 0: all of it
    int64_t tile = 0;            // side of the tiles for values that lie across; 0: there are none
    Streaming streaming = Streaming::no;
    double streamBytes = 0;
    bool fetches = false;   // large inputs are asked for ahead of their use
    int64_t rowsAhead = 0;  // rows of a table are asked for so many rows ahead
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule
