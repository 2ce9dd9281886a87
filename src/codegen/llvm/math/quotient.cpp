#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"

// A 16-lane division occupies the divider for 16 cycles and a root for more; an estimate of 14 bits and one Newton step
// are four or five cheap instructions.
namespace tokamak::codegen::math {

Expr quotient(Expr a, Expr b) {
  if (b.isDouble() || !hasAvx512(b)) return a / b;
  Expr inverse = hardwareReciprocal(b);
  Expr estimate = a * inverse;
  return fma(fma(-b, estimate, a), inverse, estimate);
}

Expr rsqrt(Expr x) {
  if (x.isDouble() || !hasAvx512(x)) return 1.0 / sqrt(x);
  // One Newton step; at zero and infinity the residual is NaN and the estimate exact.
  Expr y = hardwareReciprocalSqrt(x);
  Expr residual = fma(x * y, -y, 1.0);
  return select(isNaN(residual), y, fma(y * 0.5, residual, y));
}

}  // namespace tokamak::codegen::math
