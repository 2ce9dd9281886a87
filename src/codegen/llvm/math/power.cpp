#include <llvm/IR/Constants.h>

#include <limits>
#include <optional>

#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"
#include "codegen/llvm/math/libm.h"

namespace tokamak::codegen::math {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The exponents that are a few exact or nearly exact instructions.
std::optional<Expr> powByConstant(Expr x, Expr y) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(y.value());
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  if (!number) return std::nullopt;
  if (number->isExactlyValue(1.0)) return x;
  if (number->isExactlyValue(2.0)) return x * x;
  if (number->isExactlyValue(3.0)) return x * x * x;
  if (number->isExactlyValue(-1.0)) return 1.0 / x;
  if (number->isExactlyValue(0.5)) {
    // Unlike the root, the power is +0 at -0 and inf at -inf.
    return select(x == -infinity, infinity, abs(sqrt(x)));
  }
  return std::nullopt;
}

/// |a| mod |b| in doubles that hold floats; NaN where C's fmod is.
///
/// A quotient below 2^26 is truncated rightly and its product with b is exact. Larger ones go through a loop that takes
/// off 24 bits of the quotient at a time, each step exact too.
Expr magnitudeModulo(Expr a, Expr b) {
  constexpr double largest = 0x1p26;
  Expr x = abs(a), d = abs(b);
  Expr quotient = x / d;
  Expr fast = fma(trunc(quotient), -d, x);
  Expr isLong = (quotient >= largest) & (quotient < infinity);
  Expr result = unlikelyBranch(isLong, fast, [&] {
    Expr r = repeatWhileAny(x, [&](Expr r) -> std::pair<Expr, Expr> {
      Expr q = r / d;
      Expr isLarge = abs(q) >= largest;
      Expr leading = asFloat(asInteger(q) & ~((int64_t{1} << 29) - 1));
      Expr rest = fma(select(isLarge, leading, trunc(q)), -d, r);
      return {rest, isLarge & (abs(q) < infinity)};
    });
    return select(r < 0.0, r + d, r);  // a leading part that was rounded up
  });
  return select((d == infinity) & (x < infinity), x, result);
}

/// C's fmod on doubles, or on doubles that hold floats.
Expr fmodWide(Expr a, Expr b, bool holdFloats) {
  return holdFloats ? copySign(magnitudeModulo(a, b), a) : callLibm("fmod", {a, b});
}

/// Whether truncation toward zero and rounding down part: a remainder with the other sign than b.
Expr isOneBelow(Expr mod, Expr b) { return (mod != 0.0) & ((b < 0.0) ^ (mod < 0.0)); }

}  // namespace

Expr rsqrt(Expr x) {
  if (x.isDouble() || !hasAvx512(x)) return 1.0 / sqrt(x);
  // An estimate of 14 bits and one Newton step take a quarter of the time of root and division; at zero and infinity
  // the residual is NaN and the estimate exact.
  Expr y = hardwareReciprocalSqrt(x);
  Expr residual = fma(x * y, -y, 1.0);
  return select(isNaN(residual), y, fma(y * 0.5, residual, y));
}

Expr pow(Expr x, Expr y) {
  if (std::optional<Expr> cheap = powByConstant(x, y)) return *cheap;
  if (x.isDouble()) return callLibm("pow", {x, y});
  // exp(y log |x|) in doubles, whose relative error is below 2^-40; the conversion rounds, overflows and underflows.
  Expr exponent = toDouble(y) * log(abs(toDouble(x)));
  Expr result = toSingle(expModerate(atMost(atLeast(exponent, -110.0), 95.0)));

  Expr isInteger = floor(y) == y;
  Expr half = y * 0.5;
  Expr isOdd = isInteger & (floor(half) != half);
  Expr signOfX = asInteger(x) & std::numeric_limits<int32_t>::min();
  Expr sign = select(isOdd, signOfX, 0);
  result = select(abs(x) == 1.0, 1.0, result);
  result = select(isNaN(y), y, result);
  result = asFloat(asInteger(result) | sign);
  result = select((x < 0.0) & (x > -infinity) & ~isInteger, nan, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

Expr fmod(Expr a, Expr b) {
  return a.isDouble() ? fmodWide(a, b, false) : toSingle(fmodWide(toDouble(a), toDouble(b), true));
}

namespace {

Expr remainderWide(Expr a, Expr b, bool holdFloats) {
  Expr mod = fmodWide(a, b, holdFloats);
  return select(isOneBelow(mod, b), mod + b, mod);
}

/// As torch: the quotient of what is divisible, then to the nearest integer against its rounding.
Expr floorDivideWide(Expr a, Expr b, bool holdFloats) {
  Expr mod = fmodWide(a, b, holdFloats);
  Expr quotient = (a - mod) / b;
  quotient = select(isOneBelow(mod, b), quotient - 1.0, quotient);
  Expr below = floor(quotient);
  Expr nearest = select(quotient - below > 0.5, below + 1.0, below);
  nearest = select(quotient == 0.0, copySign(quotient.constant(0.0), a / b), nearest);
  return select(b == 0.0, a / b, nearest);
}

}  // namespace

Expr remainder(Expr a, Expr b) {
  return a.isDouble() ? remainderWide(a, b, false) : toSingle(remainderWide(toDouble(a), toDouble(b), true));
}

Expr floorDivide(Expr a, Expr b) {
  return a.isDouble() ? floorDivideWide(a, b, false) : toSingle(floorDivideWide(toDouble(a), toDouble(b), true));
}

}  // namespace tokamak::codegen::math
