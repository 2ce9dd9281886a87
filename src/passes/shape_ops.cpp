#include "passes/shape_ops.h"

#include <algorithm>

#include "passes/axis_groups.h"

namespace tokamak {

namespace {

const Node& def(const Emitter& emit, ValueId v) { return emit.graph().node(v); }

/// Which axes of `shape` the operand of a broadcast gives distinct elements to.
std::vector<char> coveredAxes(const Shape& operand, const std::vector<Axis>& axes, const Shape& shape) {
  std::vector<char> covered(shape.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) covered[axes[i]] = !operand[i].is(1);
  return covered;
}

/// reshape(broadcast(x)): where each group of axes is repeated or covered as a whole, x is reshaped instead.
ValueId reshapeBelowBroadcast(Emitter& emit, const Node& node, const Shape& shape) {
  const ValueId x = node.operands[0];
  const Shape from = node.type.shape, operand = emit.type(x).shape;
  const auto groups = axisGroups(from, shape);
  if (!groups) return {};
  const auto covered = coveredAxes(operand, std::get<Broadcast>(node.op).axes, from);
  std::vector<Axis> axes;
  Shape operandShape;
  for (const AxisGroup& group : *groups) {
    const auto count = std::count_if(group.from.begin(), group.from.end(), [&](Axis a) { return covered[a]; });
    if (count == 0) continue;
    if (count != static_cast<std::ptrdiff_t>(group.from.size())) return {};
    for (Axis axis : group.to) {
      axes.push_back(axis);
      operandShape.push_back(shape[axis]);
    }
  }
  return broadcasted(emit, reshaped(emit, x, operandShape), axes, shape);
}

ValueId reshapeIota(Emitter& emit, const Node& node, const Shape& shape) {
  const Axis axis = std::get<Iota>(node.op).axis;
  const auto groups = axisGroups(node.type.shape, shape);
  if (!groups) return {};
  for (const AxisGroup& group : *groups)
    if (group.from == std::vector<Axis>{axis} && group.to.size() == 1)
      return emit.iota(node.type.dtype, shape, group.to[0]);
  return {};
}

/// transpose(broadcast(x)): the axes follow, and x is transposed where they come out of order.
ValueId transposeBelowBroadcast(Emitter& emit, const Node& node, const std::vector<Axis>& perm) {
  const auto& axes = std::get<Broadcast>(node.op).axes;
  const ValueId x = node.operands[0];
  const auto place = inversePermutation(perm);
  std::vector<Axis> order = axisRange(0, static_cast<Axis>(axes.size()));
  std::sort(order.begin(), order.end(), [&](Axis a, Axis b) { return place[axes[a]] < place[axes[b]]; });
  std::vector<Axis> moved;
  moved.reserve(order.size());
  for (Axis i : order) moved.push_back(place[axes[i]]);
  Shape shape;
  for (Axis axis : perm) shape.push_back(node.type.shape[axis]);
  return broadcasted(emit, transposed(emit, x, order), moved, shape);
}

bool movesOnlyUnitAxes(const Shape& shape, const std::vector<Axis>& perm) {
  Axis last = -1;
  for (Axis axis : perm) {
    if (shape[axis].is(1)) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

/// broadcast(reshape(y)) where the reshape only adds or drops axes of extent 1: y's own axes find their places.
ValueId broadcastBelowReshape(Emitter& emit, const Node& node, const std::vector<Axis>& axes, const Shape& shape) {
  const ValueId y = node.operands[0];
  const Shape inner = emit.type(y).shape;
  std::vector<Axis> places;  // of the axes that count, in the result
  std::vector<Dim> extents;
  for (size_t i = 0; i < axes.size(); ++i)
    if (!node.type.shape[i].is(1)) {
      places.push_back(axes[i]);
      extents.push_back(node.type.shape[i]);
    }
  std::vector<Axis> result;
  size_t next = 0;
  Axis last = -1;
  for (const Dim& extent : inner) {
    Axis place = last + 1;  // an axis of extent 1 may stand anywhere before the next one that counts
    if (!extent.is(1)) {
      if (next == places.size() || !(extents[next] == extent)) return {};
      place = places[next++];
    }
    if (place <= last || place >= static_cast<Axis>(shape.size())) return {};
    result.push_back(last = place);
  }
  if (next != places.size()) return {};
  return broadcasted(emit, y, result, shape);
}

ValueId composeBroadcasts(Emitter& emit, const Node& inner, const std::vector<Axis>& axes, const Shape& shape) {
  std::vector<Axis> composed;
  for (Axis axis : std::get<Broadcast>(inner.op).axes) composed.push_back(axes[axis]);
  return broadcasted(emit, inner.operands[0], composed, shape);
}

}  // namespace

std::optional<Scalar> splatOf(const Graph& graph, ValueId v) {
  const Node& node = graph.node(v);
  if (const auto* full = std::get_if<Full>(&node.op)) return full->value;
  const auto* constant = std::get_if<Constant>(&node.op);
  if (!constant || constant->data->size() != 1) return std::nullopt;
  if (isFloat(node.type.dtype)) return Scalar::of(constant->data->getDouble(0));
  return Scalar::of(constant->data->getInt(0));
}

ValueId simplifyReshape(Emitter& emit, ValueId x, const Shape& shape) {
  if (emit.type(x).shape == shape) return x;
  const Node node = def(emit, x);
  if (std::holds_alternative<Reshape>(node.op)) return reshaped(emit, node.operands[0], shape);
  if (const auto splat = splatOf(emit.graph(), x)) return emit.full(*splat, node.type.dtype, shape);
  if (std::holds_alternative<Broadcast>(node.op)) return reshapeBelowBroadcast(emit, node, shape);
  if (std::holds_alternative<Iota>(node.op)) return reshapeIota(emit, node, shape);
  return {};
}

ValueId simplifyTranspose(Emitter& emit, ValueId x, const std::vector<Axis>& perm) {
  if (isIdentityPermutation(perm)) return x;
  const Node node = def(emit, x);
  Shape shape;
  for (Axis axis : perm) shape.push_back(node.type.shape[axis]);
  if (movesOnlyUnitAxes(node.type.shape, perm)) return reshaped(emit, x, shape);
  if (const auto* inner = std::get_if<Transpose>(&node.op)) {
    std::vector<Axis> composed;
    composed.reserve(perm.size());
    for (Axis axis : perm) composed.push_back(inner->perm[axis]);
    return transposed(emit, node.operands[0], composed);
  }
  if (const auto splat = splatOf(emit.graph(), x)) return emit.full(*splat, node.type.dtype, shape);
  if (std::holds_alternative<Broadcast>(node.op)) return transposeBelowBroadcast(emit, node, perm);
  if (const auto* iota = std::get_if<Iota>(&node.op))
    return emit.iota(node.type.dtype, shape, inversePermutation(perm)[iota->axis]);
  return {};
}

ValueId simplifyBroadcast(Emitter& emit, ValueId x, const std::vector<Axis>& axes, const Shape& shape) {
  if (emit.type(x).shape == shape) return x;
  const Node node = def(emit, x);
  if (const auto splat = splatOf(emit.graph(), x)) return emit.full(*splat, node.type.dtype, shape);
  if (std::holds_alternative<Broadcast>(node.op)) return composeBroadcasts(emit, node, axes, shape);
  if (std::holds_alternative<Reshape>(node.op)) return broadcastBelowReshape(emit, node, axes, shape);
  if (const auto* iota = std::get_if<Iota>(&node.op); iota && !node.type.shape[iota->axis].is(1))
    return emit.iota(node.type.dtype, shape, axes[iota->axis]);
  return {};
}

ValueId reshaped(Emitter& emit, ValueId x, const Shape& shape) {
  const ValueId simple = simplifyReshape(emit, x, shape);
  return simple.valid() ? simple : emit.reshape(x, shape);
}

ValueId transposed(Emitter& emit, ValueId x, const std::vector<Axis>& perm) {
  const ValueId simple = simplifyTranspose(emit, x, perm);
  return simple.valid() ? simple : emit.transpose(x, perm);
}

ValueId broadcasted(Emitter& emit, ValueId x, const std::vector<Axis>& axes, const Shape& shape) {
  const ValueId simple = simplifyBroadcast(emit, x, axes, shape);
  return simple.valid() ? simple : emit.broadcast(x, axes, shape);
}

bool swapsLastTwo(const Graph& graph, ValueId v) {
  const auto* transpose = std::get_if<Transpose>(&graph.node(v).op);
  if (!transpose || transpose->perm.size() < 2) return false;
  std::vector<Axis> perm = transpose->perm;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return isIdentityPermutation(perm);
}

}  // namespace tokamak
