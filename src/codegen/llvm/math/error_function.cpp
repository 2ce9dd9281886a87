#include "codegen/llvm/math/avx512.h"
#include "codegen/llvm/math/functions.h"

// Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

/// erf a / a around the points k 17/64, as polynomials in the distance from the point: erfTable[power][k]. Relative
/// error below 2^-24.2, which is the rounding of the first row.
constexpr float erfTable[6][16] = {
    {1.12837923f, 1.10239339f, 1.03064179f, 0.928924859f, 0.816054821f, 0.707503676f, 0.612265229f, 0.533216953f,
     0.469339281f, 0.417998374f, 0.376405716f, 0.342233688f, 0.313723445f, 0.289592445f, 0.268907517f, 0.250980377f},
    {-2.04277585e-05f, -0.191567406f, -0.338311285f, -0.415325522f, -0.424613595f, -0.387110084f, -0.328330994f,
     -0.26764667f, -0.215058103f, -0.173293337f, -0.141339287f, -0.117052414f, -0.0984093472f, -0.0838617086f,
     -0.0723109692f, -0.0629911199f},
    {-0.374976277f, -0.330314577f, -0.214099079f, -0.0767784342f, 0.0347392783f, 0.098107174f, 0.117027022f,
     0.10838715f, 0.0888631865f, 0.0687752292f, 0.0522391424f, 0.03984043f, 0.0308258291f, 0.0242838077f, 0.0194467027f,
     0.0158137642f},
    {-0.0231909472f, 0.110197224f, 0.170454547f, 0.163881943f, 0.111300066f, 0.0488161892f, 0.00251161843f,
     -0.0205834322f, -0.0262701008f, -0.0233619977f, -0.0180649981f, -0.0132293878f, -0.0095828576f, -0.00701695774f,
     -0.00522613712f, -0.00396815548f},
    {0.306345701f, 0.0859154761f, 0.0249330141f, -0.0324810892f, -0.0596454553f, -0.0541306771f, -0.0326104499f,
     -0.0124286041f, -0.000117690768f, 0.004217437f, 0.0048643765f, 0.00396103133f, 0.00309951883f, 0.00171096157f,
     0.00124986155f, 0.000762164185f},
    {-0.573114514f, -0.0374339372f, -0.0495921224f, -0.0336676948f, -0.00613879226f, 0.0128829889f, 0.0171655081f,
     0.0124709923f, 0.0058840164f, 0.00171256205f, -0.000398133445f, -0.000876788632f, -0.000830674253f,
     -0.000401674712f, -0.000350876886f, -0.000205150864f}};

constexpr double erfSpacing = 17.0 / 64.0;

/// erf of |x| <= 3.96 by one table look-up within registers for each power.
Expr erfByTable(Expr x) {
  constexpr double big = 0x1.8p23;
  Expr whole = abs(x);
  Expr a = atMost(whole, 3.96);
  Expr sum = fma(a, 1.0 / erfSpacing, big);
  Expr t = fma(sum - big, -erfSpacing, a);
  Expr p = hardwareLookUp(erfTable[5], asInteger(sum));
  for (int power = 4; power >= 0; --power) p = fma(p, t, hardwareLookUp(erfTable[power], asInteger(sum)));
  // From here on erf rounds to one, which casts to integers rely on.
  return copySign(select(like(whole, 3.92) < whole, 1.0, atMost(p * a, 1.0)), x);
}

/// erf by two polynomials.
Expr erfByParts(Expr x) {
  Expr a = abs(x);
  Expr z = a * a;
  // erf a = a + a P(a^2) on [0, 1]; relative error below 2^-29.
  Expr p = polynomial(
      z, {0.128379166, -0.37612626, 0.112835795, -0.0268534198, 0.00518738106, -0.000800049456, 7.81803537e-5});
  // erfc a = exp(-W(a)) on [1, 3.95]; error of erf below 2^-29. From the bound on, erf rounds to one.
  Expr w = polynomial(atMost(a, 3.95), {0.000353709445, 1.12704003, 0.638225794, 0.103037156, -0.0218051542,
                                        0.00293954881, -0.000185566139});
  return copySign(select(a < 1.0, fma(p, a, a), 1.0 - expModerate(-w)), x);
}

Expr erfDouble(Expr x) {
  Expr a = abs(x);
  Expr z = a * a;
  // erf a = a + a P(a^2) on [0, 1]; relative error below 2^-56.
  Expr p =
      polynomial(z, {0.12837916709551256, -0.37612638903183376, 0.11283791670939435, -0.026866170642465419,
                     0.0052239776014649936, -0.00085483257295497354, 0.0001205528814983368, -1.4924616562789893e-5,
                     1.6446037436515661e-6, -1.6198498015738704e-7, 1.3679262462997064e-8, -7.723643806146509e-10});
  Expr small = fma(p, a, a);
  // erfc a = exp(-W(a)) on [1, 6]; error of erf below 2^-59.
  Expr c = atMost(atLeast(a, 1.0), 6.0);
  Expr w =
      polynomial(c, {1.8436824873299817e-7, 1.1283772825715597, 0.63662870289811191, 0.10274664505691247,
                     -0.019076960398899223, -0.00028222085790589321, 0.0017709161091617415, -0.00064282492339633656,
                     4.5949375153454305e-5, 6.9754363716238805e-5, -4.4771775566628432e-5, 1.6422176371782138e-5,
                     -4.3019826921936452e-6, 8.4523855365974259e-7, -1.2483863143785635e-7, 1.3523198731987286e-8,
                     -1.0171307675524674e-9, 4.7521502924756656e-11, -1.0391589336791409e-12});
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
  Expr f = polynomial(t, {1.0215827087441911, -0.68716069631031962, 0.27947176559180936, -0.036441806635275666,
                          -0.021505663711874855, 0.0064760777838128577, 0.0030624378588739063, -0.00083272041526215833,
                          -0.00059258765603423377, 4.7669790820827118e-5, 6.9870378620543778e-5});
  Expr result = expModerate(-(a * a)) * f * inverse;
  return toSingle(select(toDouble(x) < 0.0, 2.0 - result, result));
}

}  // namespace tokamak::codegen::math
