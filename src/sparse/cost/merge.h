#pragma once

#include "sparse/cost/flow.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// Streams that meet in an intersection or union over a variable of `size` coordinates.
struct Merged {
  Flow coordinates;
  std::vector<Flow> payloads;
  double steps = 0;  // of the block that joins them
};
struct MergeOperand {
  const Flow* coordinates = nullptr;
  const Flow* payload = nullptr;
  bool repeated = false;  // its coordinates are those of an operand before it
};
Merged mergeFlows(CellKind kind, const std::vector<MergeOperand>& operands, double size, int row);

/// The results of an accumulator: its coordinates from the second on, each with its number. `folded` is the outermost
/// of the given coordinates, `inner` the others.
struct Accumulated {
  std::vector<Flow> coordinates;
  double workspace = 0;  // entries of a full one
};
Accumulated accumulateFlows(const Flow& folded, const std::vector<const Flow*>& inner);

}  // namespace tokamak::sparse
