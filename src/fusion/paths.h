#pragma once

#include <vector>

#include "graph/graph.h"

namespace tokamak {

/// How a reader at one point of a shape meets a value, through the views between them.
enum class PathKind : uint8_t {
  identity,   // the same point
  broadcast,  // the same point with some axes dropped
  other,      // anything else: a permutation, a slice, a gather, a window
};

/// One value that a node reads, directly or through views.
struct Source {
  ValueId value;
  PathKind path = PathKind::other;
  std::vector<Axis> dropped;  // of a broadcast: axes of the reader's shape that the value does not have
};

/// The values that `v` reads through views (`isView` by value), as met from a point of `shape`, which is the shape of
/// its operands for a fold and of its result otherwise.
std::vector<Source> sourcesOf(const Graph& graph, ValueId v, const std::vector<bool>& isView);

}  // namespace tokamak
