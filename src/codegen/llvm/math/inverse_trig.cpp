#include <limits>

#include "codegen/llvm/math/functions.h"

// Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

constexpr double halfPi = 0x1.921fb6p+0, halfPiLow = -0x1.777a5cp-25;  // their sum is pi/2 to 49 bits

/// asin s - s for 0 <= s <= 0.5 with z = s^2; relative error of asin below 2^-27.
Expr asinTail(Expr s, Expr z) {
  return polynomial(z, {0.166667521, 0.0749531016, 0.0454690233, 0.0241854675, 0.0421570949}) * (z * s);
}

/// atan t for |t| <= 1; relative error below 2^-25.
Expr atanPolynomial(Expr t) {
  Expr z = t * t;
  Expr p = polynomial(z, {-0.333331525, 0.199937671, -0.14211002, 0.106657706, -0.0755167156, 0.0432050116,
                          -0.0163634811, 0.0029195291});
  return fma(p, z * t, t);
}

}  // namespace

Expr asin(Expr x) {
  // Above a half, asin a = pi/2 - 2 asin sqrt((1 - a) / 2).
  Expr a = abs(x);
  Expr isLarge = a > 0.5;
  Expr z = select(isLarge, fma(a, -0.5, 0.5), a * a);
  Expr s = select(isLarge, sqrt(z), a);
  Expr tail = asinTail(s, z);
  Expr large = fma(s, -2.0, halfPi) + fma(tail, -2.0, halfPiLow);
  return copySign(select(isLarge, large, s + tail), x);
}

Expr acos(Expr x) {
  Expr a = abs(x);
  Expr isLarge = a > 0.5;
  Expr z = select(isLarge, fma(a, -0.5, 0.5), a * a);
  Expr s = select(isLarge, sqrt(z), x);
  Expr tail = asinTail(s, z);
  Expr near = (s + tail) * 2.0;  // acos |x|
  Expr large = select(x < 0.0, (2.0 * halfPi - 2.0 * s) + fma(tail, -2.0, 2.0 * halfPiLow), near);
  return select(isLarge, large, (halfPi - s) + (halfPiLow - tail));
}

Expr atan(Expr x) {
  // Above one, atan a = pi/2 - atan(1 / a).
  Expr a = abs(x);
  Expr isLarge = a > 1.0;
  Expr p = atanPolynomial(select(isLarge, -1.0 / a, a));
  return copySign(select(isLarge, (p + halfPiLow) + halfPi, p), x);
}

Expr atan2(Expr y, Expr x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr a = abs(x), b = abs(y);
  Expr isSteep = b > a;
  Expr small = select(isSteep, a, b), large = select(isSteep, b, a);
  Expr t = small / large;
  t = select(large == 0.0, large, t);
  t = select(small == infinity, 1.0, t);
  Expr p = atanPolynomial(t);
  p = select(isSteep, (halfPiLow - p) + halfPi, p);
  Expr isNegative = asInteger(x) < 0;
  p = select(isNegative, (2.0 * halfPiLow - p) + 2.0 * halfPi, p);
  p = copySign(p, y);
  return select(isNaN(x), x, select(isNaN(y), y, p));
}

}  // namespace tokamak::codegen::math
