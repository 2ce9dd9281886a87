#include <llvm/IR/Module.h>

#include <array>
#include <bit>
#include <cmath>

#include "codegen/llvm/math/functions.h"

// x = n pi/2 + r with |r| <= pi/4, then polynomials in r chosen by n mod 4. Up to |x| = 2^17 the reduction subtracts
// pi/2 in three parts; beyond, a branch takes it from a table of 2/pi by exponent. Coefficients: scripts/minimax.py.
namespace tokamak::codegen::math {
namespace {

constexpr double largestFast = 0x1p17;

/// `n` as integer lanes; only its last two bits matter.
struct Reduced {
  Expr n, r;
};

Reduced reduceFast(Expr x) {
  constexpr double big = 0x1.8p23;
  Expr sum = fma(x, 0.636619772367581343, big);
  Expr n = sum - big;
  // Each difference but the last is exact: the parts have 24 bits and cancel against n times the one before.
  Expr r = fma(n, -0x1.921fb6p+0, x);
  r = fma(n, 0x1.777a5cp-25, r);
  r = fma(n, 0x1.ee59dap-50, r);
  return {asInteger(sum), r};
}

/// Bits [at, at + 64) of 2/pi after the binary point; bits before it are zero.
uint64_t twoOverPiBits(int at) {
  constexpr std::array<uint64_t, 5> words = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                             0xfe5163abdebbc561, 0xb7246e3a424dd2e0};
  auto word = [&](int i) { return i < 0 || i >= static_cast<int>(words.size()) ? 0 : words[i]; };
  int index = at >= 0 ? at / 64 : -1 - (-1 - at) / 64;
  int offset = at - 64 * index;
  return offset == 0 ? word(index) : word(index) << offset | word(index + 1) >> (64 - offset);
}

constexpr int firstExponent = 127 + 17;  // biased, of the smallest float that needs the table
constexpr int tableRows = 255 - firstExponent;

/// 2^k 2/pi modulo 4 where 2^k is the last place of a float with the row's exponent, in three parts: 29 bits down to
/// 2^-27, 29 bits down to 2^-56, and 53 bits below. A 24-bit significand times either of the first two is exact.
std::array<double, 3> tableRow(int row) {
  int k = firstExponent + row - 150;
  int at = k - 2;  // bit 0 of 2/pi weighs 2^-1, so 2^k 2/pi has the weight 2 at bit k - 2
  auto part = [&](int from, int bits) {
    return std::ldexp(static_cast<double>(twoOverPiBits(at + from) >> (64 - bits)), 2 - from - bits);
  };
  return {part(0, 29), part(29, 29), part(58, 53)};
}

llvm::GlobalVariable* reductionTable(llvm::Module& module) {
  constexpr llvm::StringRef name = "tokamak.two_over_pi";
  if (llvm::GlobalVariable* table = module.getNamedGlobal(name)) return table;
  std::array<double, 3 * tableRows> values;
  for (int row = 0; row < tableRows; ++row) {
    std::array<double, 3> parts = tableRow(row);
    for (size_t i = 0; i < 3; ++i) values[i * tableRows + row] = parts[i];
  }
  llvm::Constant* data = llvm::ConstantDataArray::get(module.getContext(), values);
  auto* table = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                         llvm::GlobalValue::PrivateLinkage, data, name);
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return table;
}

/// Column `part` of the table at each lane's row.
Expr lookUp(Expr row, int part) {
  llvm::IRBuilderBase& builder = row.builder();
  llvm::Type* f64 = builder.getDoubleTy();
  llvm::Value* table = reductionTable(*builder.GetInsertBlock()->getModule());
  llvm::Value* address = builder.CreateGEP(f64, table, (row + part * tableRows).value());
  if (!row.type()->isVectorTy()) return row.with(builder.CreateLoad(f64, address));
  return row.with(builder.CreateMaskedGather(row.sameLanes(f64), address, llvm::Align(8)));
}

/// For finite |x| > largestFast; any value for others.
Reduced reduceHuge(Expr x) {
  llvm::IRBuilderBase& builder = x.builder();
  Expr magnitude = asInteger(x) & 0x7fffffff;
  Expr row = atMost(atLeast((magnitude >> 23) - firstExponent, 0), tableRows - 1);
  Expr significand = (magnitude & 0x7fffff) | 0x800000;
  Expr m = x.with(builder.CreateSIToFP(significand.value(), x.sameLanes(builder.getDoubleTy())));
  constexpr double big = 0x1.8p52;
  Expr first = m * lookUp(row, 0);
  Expr sum = first + big;
  Expr fraction = (first - (sum - big)) + m * lookUp(row, 1);
  fraction = fma(m, lookUp(row, 2), fraction);
  Expr carry = fraction + big;
  Expr r = toSingle((fraction - (carry - big)) * 1.57079632679489662);
  Expr wide = asInteger(sum) + asInteger(carry);
  Expr n = x.with(builder.CreateTrunc(wide.value(), x.sameLanes(builder.getInt32Ty())));
  Expr isNegative = x < 0.0;
  return {select(isNegative, -n, n), select(isNegative, -r, r)};
}

template <class Finish>
Expr reduceAndFinish(Expr x, Finish finish) {
  Expr isHuge = abs(x) > largestFast;
  Expr fast = finish(reduceFast(x));
  return unlikelyBranch(isHuge, fast,
                        [&] { return select(isHuge & (abs(x) < INFINITY), finish(reduceHuge(x)), fast); });
}

/// sin r; relative error below 2^-27 on |r| <= pi/4 + 0.01.
Expr sinPolynomial(Expr r, Expr y) {
  return fma(polynomial(y, {-0.166666538, 0.00833210442, -0.000195074477}), y * r, r);
}

/// cos r; relative error below 2^-32.
Expr cosPolynomial(Expr y) { return polynomial(y, {1.0, -0.5, 0.0416666456, -0.00138872943, 2.44294151e-5}); }

/// sin(x + turn pi/2).
Expr sinOfReduced(Reduced reduced, int turn) {
  Expr n = turn == 0 ? reduced.n : reduced.n + turn;
  Expr y = reduced.r * reduced.r;
  Expr value = select((n & 1) == 0, sinPolynomial(reduced.r, y), cosPolynomial(y));
  return asFloat(asInteger(value) ^ ((n & 2) << 30));
}

/// tan r = r + r^3 P(r^2), or -1 / tan r for odd n; relative error of tan r below 2^-25.
Expr tanOfReduced(Reduced reduced) {
  Expr r = reduced.r, y = r * r;
  Expr p = polynomial(y, {0.333331227, 0.133396983, 0.0533359796, 0.0247013122, 0.00268175965, 0.0096463114});
  Expr t = fma(p, y * r, r);
  return select((reduced.n & 1) == 0, t, -1.0 / t);
}

}  // namespace

Expr sin(Expr x) {
  // The sum that rounds to n loses the sign of a zero.
  Expr result = reduceAndFinish(x, [](Reduced reduced) { return sinOfReduced(reduced, 0); });
  return select(x == 0.0, x, result);
}

Expr cos(Expr x) {
  return reduceAndFinish(x, [](Reduced reduced) { return sinOfReduced(reduced, 1); });
}

Expr tan(Expr x) { return select(x == 0.0, x, reduceAndFinish(x, tanOfReduced)); }

}  // namespace tokamak::codegen::math
