#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"
#include "support/erf_table.h"

// Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

/// By one table look-up within registers for each power. At the bound p a rounds to one, which is therefore the result
/// from there on: casts to integers rely on it.
Expr erfByTable(Expr x) {
  constexpr double big = 0x1.8p23;
  Expr a = atMost(abs(x), erfIsOne);
  Expr sum = fma(a, 1.0 / erfSpacing, big);
  Expr t = fma(sum - big, -erfSpacing, a);
  Expr p = hardwareLookUp(erfTable[5], asInteger(sum));
  for (int power = 4; power >= 0; --power) p = fma(p, t, hardwareLookUp(erfTable[power], asInteger(sum)));
  return copySign(atMost(p * a, 1.0), x);
}

/// erf by two polynomials.
Expr erfByParts(Expr x) {
  Expr a = abs(x);
  Expr z = a * a;
  // erf a = a + a P(a^2) on [0, 1]; relative error below 2^-29.
  Expr p = polynomial(
      z, {0.128379166, -0.37612626, 0.112835787, -0.0268533472, 0.00518716266, -0.000799786591, 7.80698756e-5});
  // erfc a = exp(-W(a)) on [1, 3.95]; error of erf below 2^-29. From the bound on, erf rounds to one.
  Expr w = polynomial(atMost(a, 3.95), {0.000353668322, 1.12704027, 0.638225257, 0.10303776, -0.0218055137,
                                        0.00293965661, -0.000185578872});
  return copySign(select(a < 1.0, fma(p, a, a), 1.0 - expModerate(-w)), x);
}

Expr erfDouble(Expr x) {
  Expr a = abs(x);
  Expr z = a * a;
  // erf a = a + a P(a^2) on [0, 1]; relative error below 2^-56.
  Expr p =
      polynomial(z, {0.12837916709551256, -0.37612638903183376, 0.11283791670939436, -0.026866170642465784,
                     0.0052239776014686538, -0.00085483257297424143, 0.0001205528815584085, -1.4924616679765983e-5,
                     1.6446038876043291e-6, -1.6198508904846305e-7, 1.3679308708444234e-8, -7.7237282531358382e-10});
  Expr small = fma(p, a, a);
  // erfc a = exp(-W(a)) on [1, 6]; error of erf below 2^-59.
  Expr c = atMost(atLeast(a, 1.0), 6.0);
  Expr w =
      polynomial(c, {1.8515022233836679e-7, 1.1283772747183214, 0.63662873967053657, 0.10274653841566803,
                     -0.019076745815551677, -0.00028253892722429787, 0.0017712759500300938, -0.00064314255838427846,
                     4.6171103874323255e-5, 6.9631066143804516e-5, -4.471703688455395e-5, 1.640282285866614e-5,
                     -4.2965742121178059e-6, 8.4406018022876303e-7, -1.2464287870286571e-7, 1.3499274625691842e-8,
                     -1.0151050611637742e-9, 4.7415457400614787e-11, -1.0365756309653944e-12});
  Expr large = 1.0 - expModerate(-w);
  return copySign(select(a < 1.0, small, large), x);
}

}  // namespace

Expr erf(Expr x) {
  if (x.isDouble()) return erfDouble(x);
  return hasHardwareLookUp(x) ? erfByTable(x) : erfByParts(x);
}

Expr erfc(Expr x) {
  // In doubles, where x^2 is exact: erfc a = exp(-a^2) F(t) / (a + 2) with t = (a - 2) / (a + 2), for 0 <= a <= 10.2;
  // beyond, the result rounds to zero.
  Expr a = atMost(abs(toDouble(x)), 10.2);
  Expr inverse = 1.0 / (a + 2.0);
  Expr t = (a - 2.0) * inverse;
  // Relative error below 2^-28.
  Expr f = polynomial(t, {1.0215827087469977, -0.68716069633597898, 0.27947176563771114, -0.036441805730003878,
                          -0.021505664498741802, 0.0064760706725893076, 0.0030624393988433959, -0.00083269908125356258,
                          -0.00059258193439299463, 4.764797457780254e-5, 6.9857140484032195e-5});
  Expr result = expModerate(-(a * a)) * f * inverse;
  return toSingle(select(toDouble(x) < 0.0, 2.0 - result, result));
}

}  // namespace tokamak::codegen::math
