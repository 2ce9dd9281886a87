#include <limits>

#include "codegen/llvm/math/functions.h"

// Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {

Expr sinh(Expr x) {
  Expr a = abs(x);
  Expr z = a * a;
  // sinh a = a + a^3 P(a^2) on [0, 1]; relative error below 2^-25.
  Expr p = polynomial(z, {0.166667163, 0.00833027437, 0.000203728327});
  Expr small = fma(p, z * a, a);
  Expr half = halfExp(a);
  Expr large = half - 0.25 / half;
  return copySign(select(a < 1.0, small, large), x);
}

Expr cosh(Expr x) {
  Expr half = halfExp(abs(x));
  return half + 0.25 / half;
}

Expr tanh(Expr x) {
  // tanh a = m / (m + 1) with m = (e^2a - 1) / 2, which loses nothing near zero; from the bound on it rounds to one.
  Expr m = halfExpm1OfTwice(atMost(abs(x), x.isDouble() ? 20.0 : 9.1));
  return copySign(m / (m + 1.0), x);
}

// The inverses go through double arithmetic: squares of floats are exact there, and what the logarithm loses near one
// is far below a float's last place. Smaller arguments than `tiny` take two terms of the series.

Expr asinh(Expr x) {
  constexpr double tiny = 0x1p-10;
  Expr a = abs(toDouble(x));
  Expr square = a * a;
  Expr wide = toSingle(log(a + sqrt(square + 1.0)));
  Expr small = toSingle(fma(square * a, -1.0 / 6.0, a));
  return copySign(select(abs(x) < tiny, small, wide), x);
}

Expr acosh(Expr x) {
  Expr a = toDouble(x);
  Expr result = toSingle(log(a + sqrt(a * a - 1.0)));
  return select(x < 1.0, std::numeric_limits<double>::quiet_NaN(), result);
}

Expr atanh(Expr x) {
  constexpr double tiny = 0x1p-10;
  Expr a = abs(toDouble(x));
  Expr wide = toSingle(log((1.0 + a) / (1.0 - a)) * 0.5);
  Expr small = toSingle(fma(a * a * a, 1.0 / 3.0, a));
  return copySign(select(abs(x) < tiny, small, wide), x);
}

}  // namespace tokamak::codegen::math
