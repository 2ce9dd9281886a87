#pragma once

#include "codegen/llvm/math/expr.h"

/// The functions themselves. Those marked (f32) take float lanes only; the others float or double.
namespace tokamak::codegen::math {

/// exp.cpp
Expr exp(Expr x);
Expr exp2(Expr x);
Expr expm1(Expr x);
Expr sigmoid(Expr x);
/// exp(x) / 2 for x >= 0, without overflow before the result overflows.
Expr halfExp(Expr x);
/// exp(x) where x and the result are known to be far from overflow and underflow: no clamps, one-step scaling.
Expr expModerate(Expr x);
/// (e^2x - 1) / 2 for 0 <= x far from overflow.
Expr halfExpm1OfTwice(Expr x);

/// log.cpp
Expr log(Expr x);
Expr log2(Expr x);
Expr log10(Expr x);
Expr log1p(Expr x);

/// trig.cpp (f32)
Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);

/// inverse_trig.cpp (f32)
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);

/// hyperbolic.cpp; all but tanh (f32)
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr tanh(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);

/// error_function.cpp; erfc (f32)
Expr erf(Expr x);
Expr erfc(Expr x);

/// power.cpp
Expr rsqrt(Expr x);
Expr pow(Expr x, Expr y);
Expr fmod(Expr a, Expr b);
Expr remainder(Expr a, Expr b);  ///< torch.remainder: the sign of b
Expr floorDivide(Expr a, Expr b);

}  // namespace tokamak::codegen::math
