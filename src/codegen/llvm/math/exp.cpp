#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"

// Every exponential here is 2^n e^r with n an integer and |r| <= ln(2) / 2: n by adding and subtracting a constant so
// large that the sum has no fraction bits, e^r by a polynomial. Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

/// x = n ln 2 + r. The low bits of `sum` hold n as an integer.
struct Reduced {
  Expr sum, n, r;
};

double roundingConstant(Expr x) { return x.isDouble() ? 0x1.8p52 : 0x1.8p23; }
int mantissaBits(Expr x) { return x.isDouble() ? 52 : 23; }

Reduced reduce(Expr x) {
  double big = roundingConstant(x);
  Expr sum = fma(x, 1.4426950408889634, big);
  Expr n = sum - big;
  // n times the first part is exact within the fused operation, and so is the difference.
  Expr r = x.isDouble() ? fma(n, -0x1.62e42fefa39efp-1, x) : fma(n, -0x1.62e43p-1, x);
  r = x.isDouble() ? fma(n, -0x1.abc9e3b39803fp-56, r) : fma(n, 0x1.05c610p-29, r);
  return {sum, n, r};
}

/// P with e^r = 1 + r + r^2 P(r) on |r| <= 0.347; relative error of e^r - 1 below 2^-26 (f32), 2^-61 (f64).
Expr expTail(Expr r) {
  if (!r.isDouble()) return polynomial(r, {0.49999997, 0.166665465, 0.0416674353, 0.00836627092, 0.0013870711});
  return polynomial(r, {0.5, 0.16666666666666677, 0.041666666666666678, 0.0083333333333217383, 0.0013888888888894965,
                        0.00019841269885540629, 2.4801587280070025e-5, 2.7557244928054517e-6, 2.7557326401246373e-7,
                        2.5108769916278949e-8, 2.0895370894161013e-9});
}

Expr expOfReduced(Expr r) { return fma(fma(expTail(r), r, 1.0), r, 1.0); }

/// e^x as p 2^floor(n).
struct Power {
  Expr p;
  Reduced reduced;
};

/// 2^(i/16), i = 0 ... 15.
constexpr float kSixteenths[16] = {1.0F,        1.04427373F, 1.09050775F, 1.13878858F, 1.18920708F, 1.24185777F,
                                   1.29683959F, 1.35425556F, 1.41421354F, 1.47682619F, 1.54221082F, 1.61049032F,
                                   1.68179286F, 1.75625217F, 1.8340081F,  1.91520655F};

/// With n in sixteenths, whose fraction is looked up, r is so small that three terms do. The product with the table's
/// entry is rounded once, as the entry was: 1.02 ulp.
Power powerBySixteenths(Expr x) {
  constexpr double big = 0x1.8p19;
  Expr sum = fma(x, 1.4426950408889634, big);
  Expr n = sum - big;
  Expr r = fma(n, 0x1.05c610p-29, fma(n, -0x1.62e43p-1, x));
  Expr grown = fma(fma(r, 0.1666696, 0.50000977), r * r, r);
  Expr table = hardwareLookUp(kSixteenths, asInteger(sum));
  return {fma(table, grown, table), {sum, n, r}};
}

Power power(Expr x) {
  if (hasHardwareLookUp(x)) return powerBySixteenths(x);
  Reduced reduced = reduce(x);
  return {expOfReduced(reduced.r), reduced};
}

Expr expm1OfReduced(Expr r) { return fma(expTail(r), r * r, r); }

/// 2^n for an n whose result is normal, from integers.
Expr powerOfTwo(Expr n) {
  Expr one = asInteger(asFloat(n).constant(1.0));
  return asFloat((n << mantissaBits(asFloat(n))) + one);
}

/// p 2^(n + offset), rounded once: also where the result is subnormal or overflows.
Expr scale(Expr p, const Reduced& reduced, int offset = 0) {
  if (hasAvx512(p)) return hardwareScale(p, offset == 0 ? reduced.n : reduced.n + offset);
  Expr n = asInteger(reduced.sum) - asInteger(p.constant(roundingConstant(p) - offset));
  Expr half = n >> 1;
  return p * powerOfTwo(half) * powerOfTwo(n - half);
}

double lowestForExp(Expr x) { return x.isDouble() ? -746.0 : -104.0; }

/// x within the arguments whose exponential is neither 0 nor infinite, and a little beyond.
Expr clampForExp(Expr x) { return atMost(atLeast(x, lowestForExp(x)), x.isDouble() ? 709.8 : 88.75); }

/// A significand that is 0 where x is so low that the result is. Rounding a tiny product to 0 costs the hardware a
/// hundred cycles, and masked softmax takes the exponential of minus infinity for every other element.
Expr zeroBelow(Expr x, double lowest, Expr p) { return select(~(x < lowest), p, 0.0); }

}  // namespace

Expr exp(Expr x) {
  const auto [p, reduced] = power(clampForExp(x));
  return scale(zeroBelow(x, lowestForExp(x), p), reduced);
}

Expr halfExp(Expr x) {
  const auto [p, reduced] = power(atMost(x, x.isDouble() ? 711.0 : 90.0));
  return scale(p, reduced, -1);
}

Expr expModerate(Expr x) {
  Reduced reduced = reduce(x);
  return expOfReduced(reduced.r) * powerOfTwo(asInteger(reduced.sum));
}

Expr halfExpm1OfTwice(Expr x) {
  if (x.isDouble()) {
    Reduced reduced = reduce(x * 2.0);
    Expr power = powerOfTwo(asInteger(reduced.sum));
    return fma(power, expm1OfReduced(reduced.r), power - 1.0) * 0.5;
  }
  // With r / 2 in place of r the factors of two vanish into the constants. One part of ln(2) / 2 is enough for the only
  // caller, tanh, whose error from it fades as n grows.
  constexpr double big = 0x1.8p23;
  Expr sum = fma(x, 2.0 * 1.4426950408889634, big);
  Expr h = fma(sum - big, -0x1.62e43p-2, x);
  Expr tail = polynomial(
      h, {2.0 * 0.49999997, 4.0 * 0.166665465, 8.0 * 0.0416674353, 16.0 * 0.00836627092, 32.0 * 0.0013870711});
  Expr power = powerOfTwo(asInteger(sum));
  return fma(power, fma(tail, h * h, h), fma(power, 0.5, -0.5));
}

Expr exp2(Expr x) {
  double big = roundingConstant(x);
  const double lowest = x.isDouble() ? -1080.0 : -152.0;
  Expr clamped = atMost(atLeast(x, lowest), x.isDouble() ? 1030.0 : 130.0);
  Expr sum = clamped + big;
  Expr n = sum - big;
  Expr r = clamped - n;
  if (x.isDouble()) return scale(zeroBelow(x, lowest, expOfReduced(r * 0.69314718055994531)), {sum, n, r});
  // 2^r = 1 + r P(r) on |r| <= 0.5; relative error below 2^-28.
  Expr p = polynomial(r, {1.0, 0.693147182, 0.240226477, 0.0555035919, 0.00961849838, 0.00133911881, 0.00015329993});
  return scale(zeroBelow(x, lowest, p), {sum, n, r});
}

Expr expm1(Expr x) {
  Reduced reduced = reduce(clampForExp(x));
  // Half the power keeps the largest results from overflowing on the way.
  Expr power = powerOfTwo(atLeast(asInteger(reduced.sum) - asInteger(x.constant(roundingConstant(x) + 1.0)), -64));
  Expr result = fma(power, expm1OfReduced(reduced.r), power - 0.5) * 2.0;
  double tiny = x.isDouble() ? 0x1p-54 : 0x1p-25;
  return select(abs(x) < tiny, x, result);
}

Expr sigmoid(Expr x) {
  // With t = exp(-|x|) <= 1 neither form cancels nor overflows.
  Expr negative = -abs(x);
  Reduced reduced = reduce(atLeast(negative, lowestForExp(x)));  // a look-up would gain nothing beside the division
  Expr t = scale(zeroBelow(negative, lowestForExp(x), expOfReduced(reduced.r)), reduced);
  return select(x < 0.0, t, 1.0) / (1.0 + t);
}

}  // namespace tokamak::codegen::math
