#include "passes/free_reshape.h"

#include <algorithm>

#include "passes/axis_groups.h"
#include "passes/shape_ops.h"

namespace tokamak {

static bool isLeaf(const Op& op) { return std::holds_alternative<Input>(op) || std::holds_alternative<Constant>(op); }

ValueId freelyReshaped(Rewriter& rewriter, ValueId v, const Shape& shape) {
  if (isLeaf(rewriter.target().node(v).op)) return reshaped(rewriter, v, shape);
  const ValueId simple = simplifyReshape(rewriter, v, shape);
  if (!simple.valid()) return {};
  const Node& node = rewriter.target().node(simple);
  const bool moved = std::holds_alternative<Reshape>(node.op) && !isLeaf(rewriter.target().node(node.operands[0]).op);
  return moved ? ValueId{} : simple;
}

std::vector<Axis> axesBelow(const Shape& below, const Shape& above, const std::vector<Axis>& axes) {
  const auto groups = axisGroups(below, above);
  if (!groups) return {};
  std::vector<Axis> result;
  for (const AxisGroup& group : *groups) {
    const auto folded = std::count_if(group.to.begin(), group.to.end(),
                                      [&](Axis a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); });
    if (folded == 0) continue;
    if (folded != static_cast<std::ptrdiff_t>(group.to.size())) return {};
    result.insert(result.end(), group.from.begin(), group.from.end());
  }
  return result;
}

}  // namespace tokamak
