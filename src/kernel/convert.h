#pragma once

#include "support/scalar.h"
#include "support/scalar_op.h"

namespace tokamak::kernel {

/// The immediate that a cast of `value` to `dtype` (no half) gives: an integer wrapped to its width, or a float rounded
/// to it.
Scalar convertScalar(const Scalar& value, DType dtype);

}  // namespace tokamak::kernel
