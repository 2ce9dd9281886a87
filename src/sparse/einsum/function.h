#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "support/enum_names.h"

namespace tokamak::sparse {

/// What an expression may apply to values. Two rules make an absent operand and a stored zero the same whatever the
/// schedule: a product with a zero factor is 0, and 0 divided by anything is 0, also where the other operand is
/// infinite or no number. Comparisons give 1 or 0; `select` takes its second operand where the first is not 0.
enum class Fn : uint8_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  select,
  neg,
  abs,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  tanh,
  sigmoid,
  relu,
  gelu,
  gelu_tanh,
  silu,
  sin,
  cos,
  erf,
  logical_not
};

enum class Fold : uint8_t { sum, max, min, mean };

int arity(Fn fn);
double evalFn(Fn fn, std::span<const double> operands);

/// Whether a zero operand at `position` makes the result zero whatever the others are: both of mul and and, the first
/// of div.
bool annihilates(Fn fn, int position);

}  // namespace tokamak::sparse

template <>
struct tokamak::EnumNames<tokamak::sparse::Fn> {
  static constexpr std::array<std::string_view, 33> names = {
      "add",        "sub",  "mul",     "div",  "max",    "min",       "pow",  "eq",  "ne",  "lt",   "le",
      "gt",         "ge",   "and",     "or",   "select", "neg",       "abs",  "exp", "log", "sqrt", "rsqrt",
      "reciprocal", "tanh", "sigmoid", "relu", "gelu",   "gelu_tanh", "silu", "sin", "cos", "erf",  "not"};
};
template <>
struct tokamak::EnumNames<tokamak::sparse::Fold> {
  static constexpr std::array<std::string_view, 4> names = {"sum", "max", "min", "mean"};
};
