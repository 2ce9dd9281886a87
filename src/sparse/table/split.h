#pragma once

#include "sparse/table/region.h"

namespace tokamak::sparse {

/// Splits every variable that indexes a blocked axis into one over blocks and one inside a block, in the whole region:
/// accesses, folds and results. After that no format is blocked; `Region::parts` says which part of which axis an axis
/// of the region's tensors is.
///
///   y[i] = sum(j: A[i, j] * x[j]),  A: bcsr(4, 2)
///     =>  y[i_o, i_i] = sum(j_o, j_i: A[i_o, i_i, j_o, j_i] * x[j_o, j_i])
///
/// `wished` are blocks that a schedule wants by name of variable, whatever the formats: what is stored otherwise is
/// read from a copy in blocks. T0972 where there is no such variable, T0977 where a variable has two block sizes, or a
/// size is not a multiple of its block's.
Result<Region> splitBlocks(Region region, const std::vector<std::pair<std::string, int64_t>>& wished = {});

}  // namespace tokamak::sparse
