#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace tokamak {

/// How one loaded or stored value moves with the axes of a region's domain: elements to step a domain axis, as far as
/// that is a fixed number for all of the domain.
struct Access {
  ValueId value;
  std::vector<Dim> stride;   // a domain axis each
  std::vector<bool> opaque;  // depends on this axis in some other way (a gather, a division, a window)
  Dim offset;                // element at the domain's origin
  bool masked = false;       // reached through a pad or concat: not everywhere within bounds
};

/// All accesses of the values computed at full level in a region, and which axes of its domain must stay apart because
/// something looks at their index (padding, concatenation, iota, a gather).
struct AccessMap {
  std::vector<Access> loads;
  std::vector<bool> pinned;  // a domain axis each
};

/// Follows `roots`, whose shape is `domain`, down to values for which `isLeaf` holds.
AccessMap mapAccesses(const Graph& graph, const Shape& domain, const std::vector<ValueId>& roots,
                      const std::function<bool(ValueId)>& isLeaf);

/// Neighbouring axes of a domain that every access crosses as if they were one. The index of a group stands for its
/// last axis, with zeros for the others.
struct LoopAxis {
  size_t first, last;  // domain axes
  Dim extent;
};

/// Groups of `domain`, outermost first; axes of extent 1 vanish. Axes stay apart where `cut` (a bool for each axis: a
/// cut before it) says so.
std::vector<LoopAxis> collapse(const Shape& domain, const AccessMap& accesses, const std::vector<bool>& cut = {});

}  // namespace tokamak
