#include "passes/sink_reshape.h"

#include <algorithm>

#include "passes/free_reshape.h"
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
