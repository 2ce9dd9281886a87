#include "support/scalar_op.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/check.h"

namespace tokamak {

bool isDefined(UnaryKind kind, DType t) {
  if (isPredicate(kind)) return true;
  if (kind == UnaryKind::bitnot) return !isFloat(t);
  if (isFloatOnly(kind)) return isFloat(t);
  return t != DType::boolean;
}

bool isDefined(BinaryKind kind, DType t) {
  switch (kind) {
    case BinaryKind::sub:
    case BinaryKind::div:
    case BinaryKind::floordiv:
    case BinaryKind::rem:
    case BinaryKind::fmod:
    case BinaryKind::pow: return t != DType::boolean;
    case BinaryKind::atan2: return isFloat(t);
    case BinaryKind::bit_and:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor: return !isFloat(t);
    case BinaryKind::shl:
    case BinaryKind::shr: return isInteger(t);
    default: return true;
  }
}

int64_t wrapTo(DType t, int64_t x) {
  switch (t) {
    case DType::boolean: return x != 0;
    case DType::u8: return static_cast<uint8_t>(x);
    case DType::i8: return static_cast<int8_t>(x);
    case DType::i16: return static_cast<int16_t>(x);
    case DType::i32: return static_cast<int32_t>(x);
    default: return x;
  }
}

double evalUnary(UnaryKind kind, double x) {
  switch (kind) {
    case UnaryKind::neg: return -x;
    case UnaryKind::abs: return std::fabs(x);
    case UnaryKind::sign: return (x > 0) - (x < 0);
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::exp2: return std::exp2(x);
    case UnaryKind::expm1: return std::expm1(x);
    case UnaryKind::log: return std::log(x);
    case UnaryKind::log2: return std::log2(x);
    case UnaryKind::log10: return std::log10(x);
    case UnaryKind::log1p: return std::log1p(x);
    case UnaryKind::sqrt: return std::sqrt(x);
    case UnaryKind::rsqrt: return 1 / std::sqrt(x);
    case UnaryKind::reciprocal: return 1 / x;
    case UnaryKind::sin: return std::sin(x);
    case UnaryKind::cos: return std::cos(x);
    case UnaryKind::tan: return std::tan(x);
    case UnaryKind::asin: return std::asin(x);
    case UnaryKind::acos: return std::acos(x);
    case UnaryKind::atan: return std::atan(x);
    case UnaryKind::sinh: return std::sinh(x);
    case UnaryKind::cosh: return std::cosh(x);
    case UnaryKind::tanh: return std::tanh(x);
    case UnaryKind::asinh: return std::asinh(x);
    case UnaryKind::acosh: return std::acosh(x);
    case UnaryKind::atanh: return std::atanh(x);
    case UnaryKind::erf: return std::erf(x);
    case UnaryKind::erfc: return std::erfc(x);
    case UnaryKind::sigmoid: return 1 / (1 + std::exp(-x));
    case UnaryKind::floor: return std::floor(x);
    case UnaryKind::ceil: return std::ceil(x);
    case UnaryKind::round: return std::nearbyint(x);  // half to even
    case UnaryKind::trunc: return std::trunc(x);
    case UnaryKind::isnan: return std::isnan(x);
    case UnaryKind::isinf: return std::isinf(x);
    case UnaryKind::isfinite: return std::isfinite(x);
    case UnaryKind::logical_not: return x == 0;
    case UnaryKind::bitnot: break;
  }
  failCheck("isDefined(kind, float)", __FILE__, __LINE__, nameOf(kind));
}

namespace {

double floorDivide(double a, double b) {
  if (b == 0) return a / b;
  const double mod = std::fmod(a, b);
  double quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

double remainder(double a, double b) {
  const double mod = std::fmod(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}

/// `greater` chooses max, else min; NaN wins.
double extreme(double a, double b, bool greater) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  return (greater ? a < b : b < a) ? b : a;
}

}  // namespace

double evalBinary(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::add: return a + b;
    case BinaryKind::sub: return a - b;
    case BinaryKind::mul: return a * b;
    case BinaryKind::div: return a / b;
    case BinaryKind::floordiv: return floorDivide(a, b);
    case BinaryKind::rem: return remainder(a, b);
    case BinaryKind::fmod: return std::fmod(a, b);
    case BinaryKind::pow: return std::pow(a, b);
    case BinaryKind::max: return extreme(a, b, true);
    case BinaryKind::min: return extreme(a, b, false);
    case BinaryKind::atan2: return std::atan2(a, b);
    case BinaryKind::eq: return a == b;
    case BinaryKind::ne: return a != b;
    case BinaryKind::lt: return a < b;
    case BinaryKind::le: return a <= b;
    case BinaryKind::gt: return a > b;
    case BinaryKind::ge: return a >= b;
    default: break;
  }
  failCheck("isDefined(kind, float)", __FILE__, __LINE__, nameOf(kind));
}

int64_t evalUnary(UnaryKind kind, DType t, int64_t x) {
  switch (kind) {
    case UnaryKind::neg: return wrapTo(t, static_cast<int64_t>(-static_cast<uint64_t>(x)));
    case UnaryKind::abs: return wrapTo(t, x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x);
    case UnaryKind::sign: return (x > 0) - (x < 0);
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc: return x;
    case UnaryKind::isnan:
    case UnaryKind::isinf: return 0;
    case UnaryKind::isfinite: return 1;
    case UnaryKind::logical_not: return x == 0;
    case UnaryKind::bitnot: return t == DType::boolean ? x == 0 : wrapTo(t, ~x);
    default: break;
  }
  failCheck("isDefined(kind, integer)", __FILE__, __LINE__, nameOf(kind));
}

namespace {

int64_t divideInt(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
}

int64_t moduloInt(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t powInt(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  }
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return static_cast<int64_t>(result);
}

int64_t arithmeticInt(BinaryKind kind, DType t, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool countFits = b >= 0 && b < bitWidth(t);
  switch (kind) {
    case BinaryKind::add: return static_cast<int64_t>(ua + ub);
    case BinaryKind::sub: return static_cast<int64_t>(ua - ub);
    case BinaryKind::mul: return static_cast<int64_t>(ua * ub);
    case BinaryKind::div: return divideInt(a, b);
    case BinaryKind::floordiv: {
      const int64_t mod = moduloInt(a, b);
      return divideInt(a, b) - (mod != 0 && (mod < 0) != (b < 0));
    }
    case BinaryKind::rem: {
      const int64_t mod = moduloInt(a, b);
      return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
    }
    case BinaryKind::fmod: return moduloInt(a, b);
    case BinaryKind::pow: return powInt(a, b);
    case BinaryKind::max: return std::max(a, b);
    case BinaryKind::min: return std::min(a, b);
    case BinaryKind::eq: return a == b;
    case BinaryKind::ne: return a != b;
    case BinaryKind::lt: return a < b;
    case BinaryKind::le: return a <= b;
    case BinaryKind::gt: return a > b;
    case BinaryKind::ge: return a >= b;
    case BinaryKind::bit_and: return a & b;
    case BinaryKind::bit_or: return a | b;
    case BinaryKind::bit_xor: return a ^ b;
    case BinaryKind::shl: return countFits ? static_cast<int64_t>(ua << ub) : 0;
    case BinaryKind::shr: return countFits ? a >> b : (a < 0 ? -1 : 0);
    case BinaryKind::atan2: break;
  }
  failCheck("isDefined(kind, integer)", __FILE__, __LINE__, nameOf(kind));
}

}  // namespace

int64_t evalBinary(BinaryKind kind, DType t, int64_t a, int64_t b) {
  return wrapTo(resultType(kind, t), arithmeticInt(kind, t, a, b));
}

}  // namespace tokamak
