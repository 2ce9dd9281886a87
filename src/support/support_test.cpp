#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/array.h"
#include "support/philox.h"
#include "support/scalar.h"
#include "support/scalar_op.h"

namespace tokamak {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

TEST(DType, PromotesAsTorch) {
  EXPECT_EQ(promote(DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(promote(DType::i8, DType::u8), DType::i16);
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::boolean, DType::u8), DType::u8);
  EXPECT_EQ(promote(DType::u8, DType::i16), DType::i16);
  EXPECT_EQ(promote(DType::f64, DType::bf16), DType::f64);
}

TEST(DType, EveryHalfRoundTrips) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto u = static_cast<uint16_t>(bits);
    const float h = halfToFloat(u), b = bfloatToFloat(u);
    if (!std::isnan(h)) EXPECT_EQ(floatToHalf(h), u);
    if (!std::isnan(b)) EXPECT_EQ(floatToBfloat(b), u);
    EXPECT_EQ(std::isnan(h), std::isnan(halfToFloat(floatToHalf(h))));
    EXPECT_EQ(std::isnan(b), std::isnan(bfloatToFloat(floatToBfloat(b))));
  }
}

TEST(DType, RoundsHalvesToNearestEven) {
  EXPECT_EQ(roundTo(DType::f16, 2049.0), 2048.0);
  EXPECT_EQ(roundTo(DType::f16, 2051.0), 2052.0);
  EXPECT_EQ(roundTo(DType::f16, 65519.0), 65504.0);
  EXPECT_EQ(roundTo(DType::f16, 65520.0), kInf);
  EXPECT_EQ(roundTo(DType::f16, 0x1p-25), 0.0);
  EXPECT_EQ(roundTo(DType::f16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(roundTo(DType::f16, 0x1.ffffp-15), 0x1p-14);
  EXPECT_EQ(roundTo(DType::bf16, 257.0), 256.0);
  EXPECT_EQ(roundTo(DType::bf16, 259.0), 260.0);
  EXPECT_EQ(roundTo(DType::bf16, 3.4e38), kInf);
  EXPECT_EQ(roundTo(DType::f16, 1e-300), 0.0);
  EXPECT_TRUE(std::signbit(roundTo(DType::f16, -1e-300)));
  // Straight from double: through f32 this would round to the tie and then to even.
  EXPECT_EQ(roundTo(DType::f16, 1.0 + 0x1p-11 + 0x1p-40), 1.0 + 0x1p-10);
}

TEST(DType, RoundToWrapsIntegers) {
  EXPECT_EQ(roundTo(DType::u8, -1.5), 255);
  EXPECT_EQ(roundTo(DType::i8, 200.9), -56);
  EXPECT_EQ(roundTo(DType::i32, kNaN), 0);
  EXPECT_EQ(roundTo(DType::boolean, 0.25), 1);
  EXPECT_EQ(truncateToInt(kInf), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(truncateToInt(-1e30), kMin64);
  EXPECT_EQ(truncateToInt(0x1p63), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(truncateToInt(-2.9), -2);
}

TEST(ScalarOp, FloatUnaryEdges) {
  EXPECT_EQ(evalUnary(UnaryKind::round, 2.5), 2);
  EXPECT_EQ(evalUnary(UnaryKind::round, -3.5), -4);
  EXPECT_EQ(evalUnary(UnaryKind::sign, kNaN), 0);
  EXPECT_EQ(evalUnary(UnaryKind::sign, -kInf), -1);
  EXPECT_EQ(evalUnary(UnaryKind::rsqrt, 0.0), kInf);
  EXPECT_EQ(evalUnary(UnaryKind::rsqrt, -0.0), -kInf);
  EXPECT_EQ(evalUnary(UnaryKind::sigmoid, -kInf), 0);
  EXPECT_EQ(evalUnary(UnaryKind::sigmoid, kInf), 1);
  EXPECT_TRUE(std::isnan(evalUnary(UnaryKind::log, -1)));
  EXPECT_EQ(evalUnary(UnaryKind::logical_not, kNaN), 0);
  EXPECT_EQ(evalUnary(UnaryKind::logical_not, -0.0), 1);
  EXPECT_EQ(evalUnary(UnaryKind::isinf, -kInf), 1);
  EXPECT_EQ(evalUnary(UnaryKind::isfinite, kNaN), 0);
}

TEST(ScalarOp, FloatBinaryEdges) {
  EXPECT_EQ(evalBinary(BinaryKind::rem, -7.0, 3.0), 2);
  EXPECT_EQ(evalBinary(BinaryKind::rem, 7.0, -3.0), -2);
  EXPECT_EQ(evalBinary(BinaryKind::rem, 3.0, -kInf), -kInf);
  EXPECT_EQ(evalBinary(BinaryKind::rem, 5.0, kInf), 5);
  EXPECT_EQ(evalBinary(BinaryKind::floordiv, -5.0, kInf), -1);
  EXPECT_TRUE(std::isnan(evalBinary(BinaryKind::floordiv, kInf, 3.0)));
  EXPECT_EQ(evalBinary(BinaryKind::fmod, -7.0, 3.0), -1);
  EXPECT_TRUE(std::isnan(evalBinary(BinaryKind::rem, 1.0, 0.0)));
  EXPECT_EQ(evalBinary(BinaryKind::floordiv, -7.0, 2.0), -4);
  EXPECT_EQ(evalBinary(BinaryKind::floordiv, -7.0, 0.0), -kInf);
  EXPECT_TRUE(std::signbit(evalBinary(BinaryKind::floordiv, -0.0, 2.0)));
  EXPECT_TRUE(std::isnan(evalBinary(BinaryKind::max, kNaN, 1)));
  EXPECT_TRUE(std::isnan(evalBinary(BinaryKind::min, 1, kNaN)));
  EXPECT_EQ(evalBinary(BinaryKind::ne, kNaN, kNaN), 1);
  EXPECT_EQ(evalBinary(BinaryKind::le, kNaN, kNaN), 0);
  EXPECT_EQ(evalBinary(BinaryKind::pow, 0.0, 0.0), 1);
}

TEST(ScalarOp, IntegersWrap) {
  EXPECT_EQ(evalBinary(BinaryKind::add, DType::i8, 127, 1), -128);
  EXPECT_EQ(evalBinary(BinaryKind::mul, DType::u8, 16, 17), 16);
  EXPECT_EQ(evalBinary(BinaryKind::sub, DType::u8, 0, 1), 255);
  EXPECT_EQ(evalUnary(UnaryKind::neg, DType::i64, kMin64), kMin64);
  EXPECT_EQ(evalUnary(UnaryKind::abs, DType::i8, -128), -128);
  EXPECT_EQ(evalUnary(UnaryKind::neg, DType::u8, 1), 255);
  EXPECT_EQ(evalUnary(UnaryKind::bitnot, DType::u8, 1), 254);
  EXPECT_EQ(evalUnary(UnaryKind::bitnot, DType::boolean, 1), 0);
  EXPECT_EQ(evalUnary(UnaryKind::isfinite, DType::i32, 5), 1);
}

TEST(ScalarOp, IntegerDivision) {
  for (auto kind : {BinaryKind::div, BinaryKind::floordiv, BinaryKind::rem, BinaryKind::fmod})
    EXPECT_EQ(evalBinary(kind, DType::i32, 5, 0), 0);
  EXPECT_EQ(evalBinary(BinaryKind::div, DType::i32, -7, 2), -3);
  EXPECT_EQ(evalBinary(BinaryKind::floordiv, DType::i32, -7, 2), -4);
  EXPECT_EQ(evalBinary(BinaryKind::rem, DType::i32, -7, 2), 1);
  EXPECT_EQ(evalBinary(BinaryKind::rem, DType::i32, 7, -2), -1);
  EXPECT_EQ(evalBinary(BinaryKind::fmod, DType::i32, -7, 2), -1);
  EXPECT_EQ(evalBinary(BinaryKind::div, DType::i64, kMin64, -1), kMin64);
  EXPECT_EQ(evalBinary(BinaryKind::floordiv, DType::i8, -128, -1), -128);
  EXPECT_EQ(evalBinary(BinaryKind::rem, DType::i64, kMin64, -1), 0);
}

TEST(ScalarOp, IntegerPowAndShift) {
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, 3, 4), 81);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i8, 2, 7), -128);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, -1, -3), -1);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, 1, -3), 1);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, 2, -1), 0);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, 0, -1), 0);
  EXPECT_EQ(evalBinary(BinaryKind::pow, DType::i32, 0, 0), 1);
  EXPECT_EQ(evalBinary(BinaryKind::shl, DType::i8, 1, 7), -128);
  EXPECT_EQ(evalBinary(BinaryKind::shl, DType::i8, 1, 8), 0);
  EXPECT_EQ(evalBinary(BinaryKind::shl, DType::i64, 1, -1), 0);
  EXPECT_EQ(evalBinary(BinaryKind::shr, DType::i16, -5, 1), -3);
  EXPECT_EQ(evalBinary(BinaryKind::shr, DType::i16, -5, 16), -1);
  EXPECT_EQ(evalBinary(BinaryKind::shr, DType::u8, 200, 3), 25);
  EXPECT_EQ(evalBinary(BinaryKind::shr, DType::u8, 200, 9), 0);
}

TEST(ScalarOp, Bool) {
  EXPECT_EQ(evalBinary(BinaryKind::add, DType::boolean, 1, 1), 1);
  EXPECT_EQ(evalBinary(BinaryKind::mul, DType::boolean, 1, 0), 0);
  EXPECT_EQ(evalBinary(BinaryKind::bit_xor, DType::boolean, 1, 1), 0);
  EXPECT_EQ(evalBinary(BinaryKind::lt, DType::boolean, 0, 1), 1);
  EXPECT_FALSE(isDefined(BinaryKind::sub, DType::boolean));
  EXPECT_FALSE(isDefined(UnaryKind::exp, DType::i32));
  EXPECT_FALSE(isDefined(UnaryKind::neg, DType::boolean));
  EXPECT_FALSE(isDefined(BinaryKind::bit_and, DType::f32));
  EXPECT_FALSE(isDefined(BinaryKind::shl, DType::boolean));
  EXPECT_TRUE(isDefined(UnaryKind::isnan, DType::boolean));
}

TEST(Scalar, TextIsShortAndExact) {
  EXPECT_EQ(Scalar::of(int64_t{3}).str(), "3");
  EXPECT_EQ(Scalar::of(1.0).str(), "1.0");
  EXPECT_EQ(Scalar::of(-0.0).str(), "-0.0");
  EXPECT_EQ(Scalar::of(0.1).str(), "0.1");
  EXPECT_EQ(Scalar::of(1e300).str(), "1e+300");
  EXPECT_EQ(Scalar::of(kInf).str(), "inf");
  EXPECT_EQ(Scalar::of(-kInf).str(), "-inf");
  EXPECT_EQ(Scalar::of(-kNaN).str(), "nan");
  EXPECT_EQ(std::stod(Scalar::of(1.0 / 3).str()), 1.0 / 3);
}

TEST(Scalar, Equality) {
  EXPECT_EQ(Scalar::of(kNaN), Scalar::of(-kNaN));
  EXPECT_FALSE(Scalar::of(0.0) == Scalar::of(-0.0));
  EXPECT_FALSE(Scalar::of(1.0) == Scalar::of(int64_t{1}));
  EXPECT_EQ(Scalar::of(-2.7).asInt(), -2);
  EXPECT_EQ(Scalar::of(kInf).asInt(), std::numeric_limits<int64_t>::max());
}

TEST(Philox, KnownAnswers) {
  // Of the Random123 distribution.
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philoxBlock({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philoxBlock({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philoxBlock({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  EXPECT_EQ(philoxWord(0x299f31d0a4093822, 0x0370734413198a2e, 1),
            philoxBlockOf(0x299f31d0a4093822, 0x0370734413198a2e, 0)[1]);
}

TEST(Array, IsAlignedAndZeroFilled) {
  for (int64_t n : {0, 1, 7, 1000}) {
    Array a(DType::f32, {n, 2});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
    EXPECT_EQ(a.size(), 2 * n);
    for (int64_t i = 0; i < a.size(); ++i) EXPECT_EQ(a.as<float>()[i], 0.0f);
    Array copy = a, moved = std::move(a);
    EXPECT_EQ(copy, moved);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(copy.data()) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(moved.data()) % 64, 0u);
  }
  EXPECT_EQ(Array(DType::i8, {}).size(), 1);
  EXPECT_EQ(Array{}.size(), 0);
}

TEST(Array, ConvertsOnAccess) {
  for (int t = 0; t < 10; ++t) {
    const auto dtype = static_cast<DType>(t);
    Array a(dtype, {3});
    a.setDouble(0, 1.0);
    a.setInt(1, dtype == DType::boolean ? 5 : 100);
    a.setDouble(2, -1.5);
    EXPECT_EQ(a.getDouble(0), 1.0);
    EXPECT_EQ(a.getInt(1), dtype == DType::boolean ? 1 : 100);
    EXPECT_EQ(a.getDouble(2), roundTo(dtype, -1.5));
  }
  Array big(DType::i64, {1});
  big.setInt(0, kMin64 + 1);
  EXPECT_EQ(big.getInt(0), kMin64 + 1);
  Array half(DType::f16, {1});
  half.setDouble(0, 1.0 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(half.getDouble(0), 1.0 + 0x1p-10);
}

}  // namespace
}  // namespace tokamak
