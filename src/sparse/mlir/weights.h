#pragma once

#include "sparse/format/tensor.h"
#include "sparse/mlir/module.h"

namespace tokamak::sparse {

/// Values that a constant holds.
struct Weight {
  std::optional<double> everywhere;  // one number for all
  std::vector<double> values;        // row-major
  bool generated = false;            // the text leaves them out: they come from the seed
};

/// Reads `dense<...>`, `sparse<...>` and `dense_resource<...>`; one that is elided, or whose resource is not in the
/// text, is generated from the seed and the resource's name. T0857 where there is no reading it.
Result<Weight> readWeight(const MlirModule& module, mlir::Operation* constant, uint64_t seed);

}  // namespace tokamak::sparse
