#pragma once

#include "support/dtype.h"
#include "support/scalar.h"
#include "support/scalar_op.h"

namespace tokamak::schedule {

/// The value that leaves others as they are under `kind` (add, mul, max, min, bit_or, bit_and).
Scalar identityOf(BinaryKind kind, DType type);

}  // namespace tokamak::schedule
