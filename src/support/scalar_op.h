#pragma once

#include <cstdint>

#include "support/dtype.h"

namespace tokamak {

/// One-operand scalar functions, shared by the tensor graph and the kernel IR. `logical_not` gives bool; `isnan`,
/// `isinf`, `isfinite` give bool; `bitnot` is for integers and bool; all from `exp` to `sigmoid` are for floats; the
/// rest are for floats and integers. `round` takes halves to even; `sign` of NaN is 0, as in torch.
enum class UnaryKind : uint8_t {
  neg,
  abs,
  sign,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sqrt,
  rsqrt,
  reciprocal,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  sigmoid,
  floor,
  ceil,
  round,
  trunc,
  isnan,
  isinf,
  isfinite,
  logical_not,
  bitnot
};

template <>
struct EnumNames<UnaryKind> {
  static constexpr std::array<std::string_view, 37> names = {
      "neg",   "abs",   "sign",       "exp",   "exp2",     "expm1",       "log",   "log2",    "log10", "log1p",
      "sqrt",  "rsqrt", "reciprocal", "sin",   "cos",      "tan",         "asin",  "acos",    "atan",  "sinh",
      "cosh",  "tanh",  "asinh",      "acosh", "atanh",    "erf",         "erfc",  "sigmoid", "floor", "ceil",
      "round", "trunc", "isnan",      "isinf", "isfinite", "logical_not", "bitnot"};
};

/// Two-operand scalar functions. Both operands have one type. Comparisons give bool. Meanings beyond C's:
///   div       IEEE for floats; integers truncate toward zero, x / 0 = 0
///   floordiv  rounds toward minus infinity; integer x floordiv 0 = 0
///   rem       sign of the divisor (torch.remainder); integer x rem 0 = 0
///   fmod      sign of the dividend (C's fmod, %); integer x fmod 0 = 0
///   pow       integers by repeated squaring; a negative exponent gives 0 except for bases 1 and -1
///   max, min  NaN if either operand is NaN
///   bit_and, bit_or, bit_xor   bitwise; logical on bool
///   shl, shr  integers; shr is arithmetic for signed types; a count that is negative or >= the width gives 0 (shr of a
///   negative: -1)
/// Integer arithmetic wraps. On bool: add is or, mul is and, max is or, min is and; sub is not allowed.
enum class BinaryKind : uint8_t {
  add,
  sub,
  mul,
  div,
  floordiv,
  rem,
  fmod,
  pow,
  max,
  min,
  atan2,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr
};

template <>
struct EnumNames<BinaryKind> {
  static constexpr std::array<std::string_view, 22> names = {
      "add", "sub", "mul", "div", "floordiv", "rem", "fmod", "pow", "max", "min", "atan2",
      "eq",  "ne",  "lt",  "le",  "gt",       "ge",  "and",  "or",  "xor", "shl", "shr"};
};

constexpr bool isComparison(BinaryKind k) { return k >= BinaryKind::eq && k <= BinaryKind::ge; }
constexpr bool isPredicate(UnaryKind k) { return k >= UnaryKind::isnan && k <= UnaryKind::logical_not; }
constexpr bool isFloatOnly(UnaryKind k) { return k >= UnaryKind::exp && k <= UnaryKind::sigmoid; }

/// Whether `kind` is defined on operands of type `t`.
bool isDefined(UnaryKind kind, DType t);
bool isDefined(BinaryKind kind, DType t);

/// Type of the result on operands of type `t`.
constexpr DType resultType(UnaryKind k, DType t) { return isPredicate(k) ? DType::boolean : t; }
constexpr DType resultType(BinaryKind k, DType t) { return isComparison(k) ? DType::boolean : t; }

/// Floats in float64. Predicates and comparisons give 0 or 1.
double evalUnary(UnaryKind kind, double x);
double evalBinary(BinaryKind kind, double a, double b);

/// Integers and bool exactly, wrapped to the width of `t`.
int64_t evalUnary(UnaryKind kind, DType t, int64_t x);
int64_t evalBinary(BinaryKind kind, DType t, int64_t a, int64_t b);

/// Wraps an integer to the range of `t` (bool: x != 0).
int64_t wrapTo(DType t, int64_t x);

}  // namespace tokamak
