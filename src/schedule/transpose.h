#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// The group of axes along which a load is contiguous; groups.size() if none.
size_t contiguousGroup(const Access& access, const std::vector<LoopAxis>& groups);

/// Loads that lie across the vectors: not contiguous along the last group of axes, contiguous along another, and met at
/// one place only. Indices into accesses.loads.
std::vector<size_t> acrossLoads(const AccessMap& accesses, const std::vector<LoopAxis>& groups);

struct TileShape {
  int64_t side = 64;
  int lanes = 16;
  bool fetches = false;  // the next tile is asked for while this one is stored
};

/// Walks the domain in square tiles: brings each such load's part of a tile into a local buffer along its own
/// contiguous axis, then runs `body` over the tile in vectors along the domain's.
void lowerTiles(Lowering& l, const AccessMap& accesses, const std::vector<LoopAxis>& groups, const TileShape& shape,
                int64_t grain, const std::function<void(const At&)>& body);

}  // namespace tokamak::schedule
