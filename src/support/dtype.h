#pragma once

#include <cstdint>

#include "support/enum_names.h"

namespace tokamak {

/// Element types, in the order of PyTorch's promotion within a category: bool < u8, i8 < i16 < i32 < i64 < f16, bf16 <
/// f32 < f64.
enum class DType : uint8_t { boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64 };

template <>
struct EnumNames<DType> {
  static constexpr std::array<std::string_view, 10> names = {"bool", "u8",  "i8",   "i16", "i32",
                                                             "i64",  "f16", "bf16", "f32", "f64"};
};

constexpr bool isFloat(DType t) { return t >= DType::f16; }
constexpr bool isInteger(DType t) { return t >= DType::u8 && t <= DType::i64; }
constexpr bool isSigned(DType t) { return t >= DType::i8; }
constexpr bool isHalf(DType t) { return t == DType::f16 || t == DType::bf16; }

constexpr int64_t byteWidth(DType t) {
  constexpr int64_t widths[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return widths[static_cast<int>(t)];
}
constexpr int bitWidth(DType t) { return static_cast<int>(byteWidth(t)) * 8; }

/// What a fused kernel computes in for values of this type: f32 for halves, the type itself otherwise.
constexpr DType computeType(DType t) { return isHalf(t) ? DType::f32 : t; }

/// PyTorch's promotion of two tensor operands of rank > 0.
DType promote(DType a, DType b);

/// Bit conversions, round to nearest even; NaN stays NaN.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

/// Truncates toward zero; NaN gives 0 and what does not fit saturates.
int64_t truncateToInt(double value);

/// Rounds a double as storing it in `t` and loading it back would (straight from double for halves; wraps integers).
double roundTo(DType t, double value);

}  // namespace tokamak
