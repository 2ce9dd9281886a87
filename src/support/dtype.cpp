#include "support/dtype.h"

#include <bit>
#include <cmath>
#include <limits>

#include "support/scalar_op.h"

namespace tokamak {

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (a == DType::u8 && b == DType::i8) return DType::i16;
  if (a == DType::f16 && b == DType::bf16) return DType::f32;
  return b;
}

namespace {

/// Rounds to nearest even into a sign, `exponentBits` and `mantissaBits`, packed in the low bits.
uint16_t pack(double value, int exponentBits, int mantissaBits) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 63) << (exponentBits + mantissaBits));
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const int allOnes = (1 << exponentBits) - 1;
  const auto infinity = static_cast<uint16_t>(allOnes << mantissaBits);
  if (exponent == 0x7ff) return sign | infinity | (fraction ? uint16_t(1 << (mantissaBits - 1)) : uint16_t{0});
  if (exponent == 0) return sign;  // below the least subnormal of any narrower type

  const int field = exponent - 1023 + (allOnes >> 1);
  if (field >= allOnes) return sign | infinity;
  const int shift = 52 - mantissaBits + (field <= 0 ? 1 - field : 0);
  if (shift > 54) return sign;
  const uint64_t significand = fraction | (uint64_t{1} << 52);
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rest = significand & ((half << 1) - 1);
  uint64_t rounded = significand >> shift;
  if (rest > half || (rest == half && (rounded & 1))) ++rounded;
  // The implicit one of a normal number adds 1 to the exponent field; a carry of the rounding does the rest.
  const uint64_t packed = (static_cast<uint64_t>(field > 0 ? field - 1 : 0) << mantissaBits) + rounded;
  return sign | static_cast<uint16_t>(packed);
}

}  // namespace

float halfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31 && fraction) return std::numeric_limits<float>::quiet_NaN();
  if (exponent == 31) return sign * std::numeric_limits<float>::infinity();
  return sign * std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
}

uint16_t floatToHalf(float value) { return pack(value, 5, 10); }

float bfloatToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t floatToBfloat(float value) { return pack(value, 8, 7); }

int64_t truncateToInt(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

double roundTo(DType t, double value) {
  switch (t) {
    case DType::f64: return value;
    case DType::f32: return static_cast<float>(value);
    case DType::f16: return halfToFloat(pack(value, 5, 10));
    case DType::bf16: return bfloatToFloat(pack(value, 8, 7));
    case DType::boolean: return value != 0;
    default: return static_cast<double>(wrapTo(t, truncateToInt(value)));
  }
}

}  // namespace tokamak
