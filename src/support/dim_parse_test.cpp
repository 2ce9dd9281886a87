#include <gtest/gtest.h>

#include "support/dim.h"

namespace tokamak {
namespace {

TEST(DimParse, ReadsEqualExpressionsAsEqualValues) {
  const Dim n = Dim::symbol("N"), m = Dim::symbol("M");
  EXPECT_EQ(*Dim::parse("64"), Dim(64));
  EXPECT_EQ(*Dim::parse(" N "), n);
  EXPECT_EQ(*Dim::parse("2*N + N"), n * Dim(3));
  EXPECT_EQ(*Dim::parse("(N + 1)*(M - 2)"), (n + Dim(1)) * (m - Dim(2)));
  EXPECT_EQ(*Dim::parse("-N + -3"), Dim(0) - n - Dim(3));
  EXPECT_EQ(*Dim::parse("4 - -2"), Dim(6));
  EXPECT_EQ(*Dim::parse("floordiv(4*N, 2)"), n * Dim(2));
  EXPECT_EQ(*Dim::parse("ceildiv(N, 8)"), Dim::ceilDiv(n, 8));
  EXPECT_EQ(*Dim::parse("max(N, min(M, 3)) - mod(N, 8) // to the end"), Dim::max(n, Dim::min(m, 3)) - Dim::mod(n, 8));
}

TEST(DimParse, ReadsBackWhatStrPrints) {
  const Dim n = Dim::symbol("N"), m = Dim::symbol("M_1");
  const Dim smallest(INT64_MIN);
  for (const Dim& d : {Dim(0), Dim(-7), smallest, smallest * n, Dim(0) - n, n * n * m - Dim(4) * m + Dim(1),
                       Dim::floorDiv(n * Dim(64), 32 + 1), Dim::mod(Dim(0) - n, m), Dim::max(n, m) * Dim::min(n, 4),
                       Dim::floorDiv(Dim::floorDiv(n, 3) + m, m), Dim(INT64_MAX) * n})
    EXPECT_EQ(*Dim::parse(d.str()), d) << d.str();
}

TEST(DimParse, RefusesWithPlaceAndHint) {
  struct Case {
    const char* text;
    const char* code;
    int column;
  };
  for (const Case& c : std::initializer_list<Case>{{"", "T0104", 1},
                                                   {"4*", "T0104", 3},
                                                   {"(N", "T0104", 3},
                                                   {"N M", "T0104", 3},
                                                   {"floordiv(N)", "T0104", 11},
                                                   {"floordiv(N, 0)", "T0104", 1},
                                                   {"sqrt(N)", "T0104", 1},
                                                   {"max", "T0104", 1},
                                                   {"N $", "T0104", 3},
                                                   {"9223372036854775808", "T0105", 1},
                                                   {"99999999999999999999999", "T0105", 1},
                                                   {"4611686018427387904*4", "T0105", 20},
                                                   {"9223372036854775807 + 9223372036854775807", "T0105", 21},
                                                   {"\xff", "T0104", 1}}) {
    const auto result = Dim::parse(c.text);
    ASSERT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.error().code, c.code) << c.text;
    EXPECT_EQ(result.error().location.column, c.column) << c.text;
    EXPECT_FALSE(result.error().hint.empty()) << c.text;
  }
}

TEST(DimParse, BoundsDepthAndGrowth) {
  EXPECT_FALSE(Dim::parse(std::string(1000000, '(')).ok());
  EXPECT_FALSE(Dim::parse(std::string(1000000, '-') + "N").ok());
  std::string product = "(a0+b0)";
  for (int i = 1; i < 60; ++i) product += "*(a" + std::to_string(i) + "+b" + std::to_string(i) + ")";
  EXPECT_FALSE(Dim::parse(product).ok());
  std::string power = "N";
  for (int i = 0; i < 5000; ++i) power += "*N";
  EXPECT_FALSE(Dim::parse(power).ok());
}

TEST(DimParse, SmallestIntegerByMinusOneDoesNotTrap) {
  EXPECT_TRUE(Dim::parse("floordiv(-9223372036854775808*N, -1)").ok());
  EXPECT_TRUE(Dim::parse("mod(-9223372036854775808, -1)").ok());
  EXPECT_EQ(*Dim::parse("mod(-7, 3)"), Dim(2));
}

}  // namespace
}  // namespace tokamak
