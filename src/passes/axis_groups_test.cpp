#include "passes/axis_groups.h"

#include <gtest/gtest.h>

namespace tokamak {
namespace {

TEST(AxisGroups, FallsApartWhereProductsMeet) {
  const Dim b = Dim::symbol("B"), s = Dim::symbol("S");
  const auto groups = axisGroups({b, s, 768}, {b * s, 12, 64});
  ASSERT_TRUE(groups);
  EXPECT_EQ(*groups, (std::vector<AxisGroup>{{{0, 1}, {0}}, {{2}, {1, 2}}}));
}

TEST(AxisGroups, LeavesUnitAxesOut) {
  const auto groups = axisGroups({1, 6, 1, 4}, {2, 3, 1, 4, 1});
  ASSERT_TRUE(groups);
  EXPECT_EQ(*groups, (std::vector<AxisGroup>{{{1}, {0, 1}}, {{3}, {3}}}));
}

TEST(AxisGroups, TakesCrossingAxesTogether) {
  const auto groups = axisGroups({4, 6, 5}, {6, 4, 5});
  ASSERT_TRUE(groups);
  EXPECT_EQ(*groups, (std::vector<AxisGroup>{{{0, 1}, {0, 1}}, {{2}, {2}}}));
}

TEST(AxisGroups, KnowsWhenItCannotTell) {
  EXPECT_FALSE(axisGroups({0, 3}, {0, 5}));
  EXPECT_FALSE(axisGroups({Dim::symbol("N")}, {Dim::symbol("M")}));
  EXPECT_TRUE(axisGroups({1, 1}, {}));
  EXPECT_TRUE(axisGroups({}, {})->empty());
}

}  // namespace
}  // namespace tokamak
