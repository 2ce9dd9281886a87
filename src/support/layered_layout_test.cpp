#include "support/layered_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace tokamak {
namespace {

void expectNoOverlap(const std::vector<LayoutBox>& boxes, const LayeredLayout& layout) {
  for (size_t a = 0; a < boxes.size(); ++a)
    for (size_t b = a + 1; b < boxes.size(); ++b) {
      const auto &p = layout.corners[a], &q = layout.corners[b];
      const bool apart = p.x + boxes[a].width <= q.x + 1e-6 || q.x + boxes[b].width <= p.x + 1e-6 ||
                         p.y + boxes[a].height <= q.y + 1e-6 || q.y + boxes[b].height <= p.y + 1e-6;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
}

TEST(LayeredLayout, PlacesNothing) {
  const LayeredLayout layout = layoutLayers({}, {}, {});
  EXPECT_EQ(layout.width, 0);
  EXPECT_EQ(layout.height, 0);
}

TEST(LayeredLayout, StacksAChain) {
  const LayeredLayout layout = layoutLayers({{60, 20}, {40, 20}}, {{0, 1}}, {.layer = 30});
  EXPECT_DOUBLE_EQ(layout.corners[1].y, 50);
  EXPECT_DOUBLE_EQ(layout.corners[0].x + 30, layout.corners[1].x + 20);
  ASSERT_EQ(layout.routes[0].size(), 2u);
  EXPECT_DOUBLE_EQ(layout.routes[0].front().y, 20);
  EXPECT_DOUBLE_EQ(layout.routes[0].back().y, 50);
}

TEST(LayeredLayout, KeepsASourceCloseToItsReader) {
  // 0 -> 1 -> 2 -> 3 and a weight 4 that only 3 reads.
  const LayeredLayout layout = layoutLayers(std::vector<LayoutBox>(5, {20, 10}), {{0, 1}, {1, 2}, {2, 3}, {4, 3}}, {});
  EXPECT_DOUBLE_EQ(layout.corners[4].y, layout.corners[2].y);
}

TEST(LayeredLayout, UncrossesTwoEdges) {
  const std::vector<LayoutBox> boxes(4, {20, 10});
  const LayeredLayout layout = layoutLayers(boxes, {{0, 3}, {1, 2}}, {});
  EXPECT_EQ(layout.corners[0].x < layout.corners[1].x, layout.corners[3].x < layout.corners[2].x);
}

TEST(LayeredLayout, RoutesALongEdgeAroundTheMiddle) {
  const std::vector<LayoutBox> boxes(3, {40, 10});
  const LayeredLayout layout = layoutLayers(boxes, {{0, 1}, {1, 2}, {0, 2}}, {});
  const auto& route = layout.routes[2];
  ASSERT_EQ(route.size(), 4u);
  const double x = route[1].x, middle = layout.corners[1].x;
  EXPECT_TRUE(x <= middle || x >= middle + 40) << x << " runs through the box at " << middle;
}

TEST(LayeredLayout, PlacesRandomGraphsWithinTheFrameWithoutOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    const int n = 1 + static_cast<int>(random() % 40);
    std::vector<LayoutBox> boxes;
    std::vector<LayoutEdge> edges;
    for (int i = 0; i < n; ++i) {
      boxes.push_back({10.0 + static_cast<double>(random() % 90), 10.0 + static_cast<double>(random() % 50)});
      for (int k = 0; i > 0 && k < static_cast<int>(random() % 3); ++k)
        edges.push_back({static_cast<int>(random() % static_cast<unsigned>(i)), i});
    }
    const LayeredLayout layout = layoutLayers(boxes, edges, {});
    expectNoOverlap(boxes, layout);
    for (size_t i = 0; i < boxes.size(); ++i) {
      EXPECT_GE(layout.corners[i].x, -1e-6);
      EXPECT_LE(layout.corners[i].x + boxes[i].width, layout.width + 1e-6);
    }
    for (size_t e = 0; e < edges.size(); ++e) {
      EXPECT_LT(layout.corners[edges[e].from].y, layout.corners[edges[e].to].y);
      for (size_t i = 1; i < layout.routes[e].size(); ++i)
        EXPECT_LE(layout.routes[e][i - 1].y, layout.routes[e][i].y + 1e-6);
    }
  }
}

}  // namespace
}  // namespace tokamak
