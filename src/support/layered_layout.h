#pragma once

#include <vector>

namespace tokamak {

struct LayoutPoint {
  double x = 0, y = 0;
};

/// A box to place; only its size matters.
struct LayoutBox {
  double width = 0, height = 0;
};

struct LayoutEdge {
  int from = 0, to = 0;
  double weight = 1;  // how straight it should run
};

struct LayoutSpacing {
  double layer = 40;  // between the layers, downwards
  double box = 20;    // between neighbours in a layer
  double edge = 10;   // taken by an edge that passes through a layer
};

/// Where things go: the upper left corner of each box and, for each edge, the points its line passes from the bottom of
/// one box to the top of the other. All coordinates are within [0, width] x [0, height].
struct LayeredLayout {
  std::vector<LayoutPoint> corners;
  std::vector<std::vector<LayoutPoint>> routes;
  double width = 0, height = 0;
};

/// Draws an acyclic graph in layers, downwards: every edge leads to a lower layer, boxes without predecessors stand
/// close to their readers, few edges cross and most run straight.
///
///   layoutLayers({{60, 20}, {60, 20}}, {{0, 1}}, {});  // one above the other
///
/// Requires: no cycles, indices in range. Deterministic. Boxes never overlap.
LayeredLayout layoutLayers(const std::vector<LayoutBox>& boxes, const std::vector<LayoutEdge>& edges,
                           const LayoutSpacing& spacing);

}  // namespace tokamak
