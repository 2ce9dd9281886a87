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
/// `wished` are blocks that a schedule wants by name of variable, whatever the formats. Where formats disagree on a
/// variable's block the first one counts; what is stored otherwise is read from a copy in blocks, which stores the same
/// entries. T0972 where there is no such variable.
///
/// A block need not divide its dimension. What lies beyond the edge is computed like everything else, is dropped from
/// results, and is kept out of folds by a range along the dimension wherever it could be other than zero:
///
///   m = max(j: A[i, j]),  j in blocks of 4 of 10
///     =>  m = max(j_o, j_i in N.range[j_o, j_i]: A[i, j_o, j_i])
Result<Region> splitBlocks(Region region, const std::vector<std::pair<std::string, int64_t>>& wished = {});

}  // namespace tokamak::sparse
