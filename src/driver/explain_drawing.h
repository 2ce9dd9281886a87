#pragma once

#include <string>
#include <vector>

#include "driver/explain.h"
#include "support/layered_layout.h"

namespace tokamak {

/// An op inside a kernel's box; coordinates are absolute.
struct DrawnOp {
  std::string text;    // `add`
  std::string title;   // its line of IR
  std::string family;  // "pointwise", "fold", "view", "index", "product", "source": decides the colour
  bool stored = false, replicated = false;
  LayoutPoint corner;
  LayoutBox size;
};

struct DrawnEdge {
  std::vector<LayoutPoint> route;
  std::string label;  // bytes; empty inside kernels
  std::string title;  // decision, rule, reason
  std::string style;  // "inner", "memory", "view"
};

/// A kernel with its ops, or something outside kernels: an input, a constant, a view of stored memory, an output.
struct DrawnBox {
  std::string style;               // "kernel", "input", "constant", "view", "output"
  std::vector<std::string> lines;  // the first is the name
  std::string title;
  int region = -1;  // index into the ledger's regions
  LayoutPoint corner;
  LayoutBox size;
  std::vector<DrawnOp> ops;
  std::vector<DrawnEdge> edges;
};

struct Drawing {
  std::vector<DrawnBox> boxes;
  std::vector<DrawnEdge> edges;
  double width = 0, height = 0;
};

/// Lays a plan out: kernels as boxes around their ops, in layers from inputs to outputs, with the bytes that cross
/// memory on the edges between them. A kernel of very many ops is drawn as one summary.
Drawing drawPlan(const Explanation& explanation);

}  // namespace tokamak
