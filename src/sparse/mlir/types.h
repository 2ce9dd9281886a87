#pragma once

#include <mlir/IR/BuiltinTypes.h>

#include "sparse/format/format.h"
#include "support/dtype.h"
#include "support/result.h"

namespace tokamak::sparse {

/// The element type, or nothing: complex numbers, vectors, tiny floats.
std::optional<DType> dtypeOf(mlir::Type element);

/// The format that a tensor type's encoding says, or nothing where it has none. T0853, without a place, where there is
/// no such format here.
///
///   #sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>                     csc
///   #sparse_tensor.encoding<{ map = (i, j) -> (i : compressed(nonunique), j : singleton) }>          coo
///   #sparse_tensor.encoding<{ map = (i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed,
///                                              i mod 2 : dense, j mod 3 : dense) }>                  bcsr(2, 3)
Result<std::optional<Format>> formatOf(mlir::RankedTensorType type);

}  // namespace tokamak::sparse
