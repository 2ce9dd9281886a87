#include "kernel/convert.h"

namespace tokamak::kernel {

Scalar convertScalar(const Scalar& value, DType dtype) {
  if (dtype == DType::boolean) return Scalar::of(static_cast<int64_t>(value.isFloat ? value.d != 0 : value.i != 0));
  if (!isFloat(dtype)) return Scalar::of(wrapTo(dtype, value.isFloat ? truncateToInt(value.d) : value.i));
  if (dtype == DType::f64) return Scalar::of(value.asDouble());
  // Straight from int64 to float: a stop at double would round twice.
  return Scalar::of(static_cast<double>(value.isFloat ? static_cast<float>(value.d) : static_cast<float>(value.i)));
}

}  // namespace tokamak::kernel
