#include "passes/sink_reshape.h"

#include <algorithm>

#include "passes/axis_groups.h"
#include "passes/rewriter.h"
#include "passes/shape_ops.h"

namespace tokamak {

namespace {

bool isLeaf(const Op& op) { return std::holds_alternative<Input>(op) || std::holds_alternative<Constant>(op); }

/// The shape under a reshape worth sinking; nothing for other values and for reshaped inputs.
const Shape* shapeBelow(const Graph& graph, ValueId v) {
  const Node& node = graph.node(v);
  if (!std::holds_alternative<Reshape>(node.op) || isLeaf(graph.node(node.operands[0]).op)) return nullptr;
  return &graph.type(node.operands[0]).shape;
}

/// v in the given shape, if that needs no reshape of a computed value; invalid otherwise.
ValueId freelyReshaped(Rewriter& rewriter, ValueId v, const Shape& shape) {
  if (isLeaf(rewriter.target().node(v).op)) return reshaped(rewriter, v, shape);
  const ValueId simple = simplifyReshape(rewriter, v, shape);
  if (!simple.valid()) return {};
  const Node& node = rewriter.target().node(simple);
  const bool moved = std::holds_alternative<Reshape>(node.op) && !isLeaf(rewriter.target().node(node.operands[0]).op);
  return moved ? ValueId{} : simple;
}

/// Whether reshaping v means another view of stored memory, rather than writing out what is computed on the way.
bool isStorable(const Op& op) { return !std::holds_alternative<Broadcast>(op) && !std::holds_alternative<Iota>(op); }

/// The operands of an elementwise node in `shape`; empty when one of them cannot follow.
std::vector<ValueId> operandsIn(Rewriter& rewriter, const Node& node, const Shape& shape) {
  const bool fewerAxes = shape.size() < node.type.rank();
  std::vector<ValueId> operands;
  for (ValueId v : node.operands) {
    ValueId moved = freelyReshaped(rewriter, v, shape);
    if (!moved.valid() && fewerAxes && isStorable(rewriter.target().node(v).op)) moved = reshaped(rewriter, v, shape);
    if (!moved.valid()) return {};
    operands.push_back(moved);
  }
  return operands;
}

/// Shapes under the reshapes that `node` reads, those with the fewest axes first.
std::vector<Shape> candidates(const Graph& graph, const Node& node) {
  std::vector<Shape> shapes;
  for (ValueId v : node.operands)
    if (const Shape* shape = shapeBelow(graph, v)) shapes.push_back(*shape);
  std::sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) { return a.size() < b.size(); });
  return shapes;
}

ValueId sinkBelowElementwise(Rewriter& rewriter, const Node& node) {
  for (const Shape& shape : candidates(rewriter.target(), node)) {
    auto operands = operandsIn(rewriter, node, shape);
    if (operands.empty()) continue;
    const ValueId moved = rewriter.append(node.op, std::move(operands), {node.type.dtype, shape});
    return rewriter.reshape(moved, node.type.shape);
  }
  return {};
}

/// The axes under a reshape that a fold of `axes` above it folds; empty when the reshape mixes folded and kept axes.
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

ValueId sinkBelowReduce(Rewriter& rewriter, const Node& node, const Reduce& op) {
  const ValueId v = node.operands[0];
  const Shape* below = shapeBelow(rewriter.target(), v);
  if (!below) return {};
  const Shape shape = *below;
  Reduce moved = op;
  moved.axes = axesBelow(shape, rewriter.type(v).shape, op.axes);
  if (moved.axes.empty()) return {};
  TensorType type{node.type.dtype, {}};
  for (Axis axis : otherAxes(shape.size(), moved.axes)) type.shape.push_back(shape[axis]);
  const ValueId source = rewriter.target().node(v).operands[0];
  return rewriter.reshape(rewriter.append(moved, {source}, std::move(type)), node.type.shape);
}

}  // namespace

Result<Changed> SinkReshape::run(Graph& graph) const {
  return rewriteNodes(graph, [this](Rewriter& rewriter, const Node& node) -> ValueId {
    if (isElementwise(node.op)) return sinkBelowElementwise(rewriter, node);
    if (const auto* op = std::get_if<Reduce>(&node.op); op && acrossReductions)
      return sinkBelowReduce(rewriter, node, *op);
    if (std::holds_alternative<Reshape>(node.op)) return simplifyReshape(rewriter, node.operands[0], node.type.shape);
    if (const auto* op = std::get_if<Broadcast>(&node.op))
      return simplifyBroadcast(rewriter, node.operands[0], op->axes, node.type.shape);
    return {};
  });
}

}  // namespace tokamak
