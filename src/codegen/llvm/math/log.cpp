#include <limits>

#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"

// A logarithm splits x = 2^e (1 + f) with 1 + f around one, and adds e ln 2 to a polynomial in f (f32) or in
// s = f / (2 + f) (f64). Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Split {
  Expr e, f;
};

int mantissaBits(Expr x) { return x.isDouble() ? 52 : 23; }

/// A small integer as a float of its width: its bits are added to those of a float whose last place is one.
Expr smallToFloat(Expr i) {
  if (!asFloat(i).isDouble()) return toFloat(i);
  Expr big = asFloat(i).constant(0x1.8p52);
  return asFloat(i + asInteger(big)) - big;
}

/// For x > 0, subnormal or not. With AVX-512 also e = -inf, f = 0 of zero; e = inf, f = 0 of inf; f = NaN of x < 0.
Split split(Expr x) {
  if (hasAvx512(x)) {
    Expr m = hardwareMantissa(x);
    return {hardwareExponent(x) - hardwareExponent(m), m - 1.0};
  }
  int bits = mantissaBits(x);
  double smallest = x.isDouble() ? 0x1p-1022 : 0x1p-126;
  Expr isSmall = x < smallest;
  Expr scaled = asInteger(select(isSmall, x * (x.isDouble() ? 0x1p54 : 0x1p24), x));
  Expr e = (scaled - asInteger(x.constant(0.75))) >> bits;
  Expr m = asFloat(scaled - (e << bits));
  Expr shift = select(isSmall, x.constant(x.isDouble() ? -54.0 : -24.0), 0.0);
  return {smallToFloat(e) + shift, m - 1.0};
}

/// The values at 0, infinity, NaN and below zero, where `split` does not give them.
Expr withSpecials(Expr x, Expr result) {
  if (hasAvx512(x)) return result;
  Expr special = select(x < 0.0, nan, select(x == 0.0, -infinity, x));
  return select((x > 0.0) & (x < infinity), result, special);
}

/// log(1 + f) - f for f in [-0.25, 0.5] (f32), relative error of the logarithm below 2^-27.
Expr log1pTail(Expr f) {
  Expr p = polynomial(f, {-0.5, 0.333334506, -0.250001013, 0.199908137, -0.166471168, 0.144786611, -0.13162972,
                          0.104647994, -0.0450748615});
  return p * (f * f);
}

/// The same for doubles. With s = f / (2 + f), log(1 + f) = 2 s + s^3 P(s^2), and 2 s is f - s f: the rounding of s
/// counts in small terms only.
Expr log1pTailDouble(Expr f) {
  Expr s = f / (f + 2.0);
  Expr z = s * s;
  // On |s| <= 0.2; relative error of the logarithm below 2^-55.
  Expr p = polynomial(z, {0.66666666666672691, 0.39999999996172331, 0.28571429393360637, 0.22222138657334592,
                          0.18186349848940866, 0.1525030896851097, 0.15367289189012012});
  Expr halfSquare = f * f * 0.5;
  return fma(s, fma(p, z, halfSquare), -halfSquare);
}

}  // namespace

Expr log(Expr x) {
  Split parts = split(x);
  if (!x.isDouble()) return withSpecials(x, fma(parts.e, 0.69314718, parts.f + log1pTail(parts.f)));
  Expr low = fma(parts.e, 0x1.abc9e3b39803fp-56, log1pTailDouble(parts.f));
  return withSpecials(x, fma(parts.e, 0x1.62e42fefa39efp-1, parts.f + low));
}

Expr log2(Expr x) {
  Split parts = split(x);
  // log2(e) in two parts: the first product must not cost a rounding of the factor.
  Expr f = parts.f;
  Expr tail = log1pTail(f);
  Expr result = fma(f, 0x1.715476p+0, fma(f, 0x1.4ae0c0p-26, tail * 1.44269504));
  return withSpecials(x, parts.e + result);
}

Expr log10(Expr x) {
  Split parts = split(x);
  Expr f = parts.f;
  Expr tail = log1pTail(f);
  Expr result = fma(f, 0x1.bcb7b2p-2, fma(f, -0x1.5b235ep-27, tail * 0.4342944819));
  // Both parts of log10(2) are positive: an infinite e must not meet itself with the other sign.
  result = fma(parts.e, 0x1.344134p-2, fma(parts.e, 0x1.09f7a0p-26, result));
  return withSpecials(x, result);
}

Expr log1p(Expr x) {
  // 1 + x = 2^e (1 + f); f comes from x itself, so that nothing of a small x is lost.
  int bits = mantissaBits(x);
  Expr e = (asInteger(x + 1.0) - asInteger(x.constant(0.75))) >> bits;
  Expr shift = e << bits;
  Expr power = asFloat(asInteger(x.constant(4.0)) - shift) * 0.25;  // 2^-e; 4 keeps the bits of a float for e = 128
  Expr f = asFloat(asInteger(x) - shift) + (power - 1.0);
  Expr result = fma(toFloat(e), 0.69314718, f + log1pTail(f));
  result = select(abs(x) < 0x1p-25, x, result);
  Expr special = select(x < -1.0, nan, select(x == -1.0, -infinity, x));
  return select((x > -1.0) & (x < infinity), result, special);
}

}  // namespace tokamak::codegen::math
