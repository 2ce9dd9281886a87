#pragma once

#include <tuple>

#include "graph/ops/field.h"
#include "support/scalar_op.h"

namespace tokamak {

/// Applies a scalar function to every element. The kind's name is the mnemonic. Shapes are equal; broadcasts are
/// written out.
///
///   %1 = exp %0 : f32[64]
struct Unary {
  UnaryKind kind = UnaryKind::neg;
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Unary&) const = default;
};

/// Applies a scalar function to pairs of elements; both operands have one dtype and one shape.
///
///   %2 = add %0, %1 : f32[64]
///   %3 = lt %0, %1 : bool[64]
struct Binary {
  BinaryKind kind = BinaryKind::add;
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Binary&) const = default;
};

/// Where the first operand (bool) holds the second, else the third.
///
///   %3 = select %0, %1, %2 : f32[64]
struct Select {
  static constexpr std::string_view mnemonic = "select";
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Select&) const = default;
};

/// min(max(x, low), high), NaN if any is NaN. Operands x, low, high of one type.
///
///   %3 = clamp %0, %1, %2 : f32[64]
struct Clamp {
  static constexpr std::string_view mnemonic = "clamp";
  static constexpr auto fields() { return std::tuple{}; }
  bool operator==(const Clamp&) const = default;
};

/// Converts to the dtype of the result. Floats round to nearest even; float to integer truncates (NaN gives 0 and what
/// does not fit saturates to i64, then wraps); to bool is x != 0. A cast the program wrote is never dropped.
///
/// `synthetic` marks a cast between floats that a decomposition inserted to compute in f32 inside a half-precision
/// composite. It changes the dtype that eager rounding uses and, like any op, keeps its unrounded value otherwise;
/// passes may drop a synthetic narrowing followed by a synthetic widening.
///
///   %1 = cast %0 : bf16[64]
///   %2 = cast %0 {synthetic = true} : f32[64]
struct Cast {
  static constexpr std::string_view mnemonic = "cast";
  bool synthetic = false;
  static constexpr auto fields() { return std::tuple{Field{"synthetic", &Cast::synthetic}}; }
  bool operator==(const Cast&) const = default;
};

}  // namespace tokamak
