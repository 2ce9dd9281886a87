#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/check.h"
#include "support/scalar_op.h"

/// What the vector math is judged by, for tests: the C library in a wider type, and distances in units in the last
/// place.
namespace tokamak::codegen::math {

/// `W` is double for float results, long double for double results.
template <class W>
W reference(UnaryKind kind, W x) {
  switch (kind) {
    case UnaryKind::exp: return std::exp(x);
    case UnaryKind::exp2: return std::exp2(x);
    case UnaryKind::expm1: return std::expm1(x);
    case UnaryKind::log: return std::log(x);
    case UnaryKind::log2: return std::log2(x);
    case UnaryKind::log10: return std::log10(x);
    case UnaryKind::log1p: return std::log1p(x);
    case UnaryKind::rsqrt: return 1 / std::sqrt(x);
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
    default: TK_CHECK(false, "a function that vector math serves");
  }
}

template <class W>
W reference(BinaryKind kind, W a, W b) {
  if (kind == BinaryKind::pow) return std::pow(a, b);
  if (kind == BinaryKind::atan2) return std::atan2(a, b);
  W mod = std::fmod(a, b);
  bool isOneBelow = mod != 0 && (b < 0) != (mod < 0);
  if (kind == BinaryKind::fmod) return mod;
  if (kind == BinaryKind::rem) return isOneBelow ? mod + b : mod;
  TK_CHECK(kind == BinaryKind::floordiv, "a function that vector math serves");
  if (b == 0) return a / b;
  W quotient = (a - mod) / b - (isOneBelow ? 1 : 0);
  if (quotient == 0) return std::copysign(W(0), a / b);
  W below = std::floor(quotient);
  return quotient - below > W(0.5) ? below + 1 : below;
}

/// How far `value` lies from `exact`, in units in the last place of T at `exact`. Infinity where a NaN or the sign of a
/// zero is wrong; an infinity counts as the number just beyond the largest.
template <class T, class W>
double ulpDistance(T value, W exact) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  T rounded = static_cast<T>(exact);
  if (std::isnan(value) || std::isnan(exact)) return std::isnan(value) && std::isnan(exact) ? 0 : wrong;
  if (value == rounded && std::isinf(value)) return 0;
  if (value == 0 && rounded == 0 && std::signbit(value) != std::signbit(exact)) return wrong;
  using Limits = std::numeric_limits<T>;
  const W beyond = std::ldexp(W(1), Limits::max_exponent);
  if (std::isinf(exact) || std::fabs(exact) > beyond) exact = std::copysign(beyond, exact);
  W got = std::isinf(value) ? std::copysign(beyond, static_cast<W>(value)) : static_cast<W>(value);
  int exponent = exact == 0 ? Limits::min_exponent : std::ilogb(exact) + 1;
  int place = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return static_cast<double>(std::fabs(std::ldexp(got - exact, -place)));
}

}  // namespace tokamak::codegen::math
