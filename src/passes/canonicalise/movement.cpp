#include <algorithm>

#include "passes/canonicalise/rules.h"

namespace tokamak {

namespace {

bool takesAll(const Slice& op, const Shape& from, const Shape& to, size_t axis) {
  return op.start[axis].is(0) && from[axis] == to[axis];
}

/// The slice lies within one piece of a concat.
ValueId sliceOfConcat(Canonical& c, const Node& node, const Slice& op) {
  const Node concat = c.def(node.operands[0]);
  const Axis axis = std::get<Concat>(concat.op).axis;
  const auto start = op.start[axis].constant(), extent = node.type.shape[axis].constant();
  if (!start || !extent || *extent == 0) return {};
  const int64_t last = *start + (*extent - 1) * op.stride[axis];
  int64_t offset = 0;
  for (ValueId piece : concat.operands) {
    const auto length = c.type(piece).shape[axis].constant();
    if (!length) return {};
    if (*start >= offset && last < offset + *length) {
      Slice moved = op;
      moved.start[axis] = *start - offset;
      return c.make(moved, {piece}, node.type);
    }
    offset += *length;
  }
  return {};
}

/// The slice cuts only axes along which a broadcast repeats.
ValueId sliceOfBroadcast(Canonical& c, const Node& node, const Slice& op) {
  const Node broadcast = c.def(node.operands[0]);
  const auto& axes = std::get<Broadcast>(broadcast.op).axes;
  const ValueId x = broadcast.operands[0];
  for (size_t i = 0; i < axes.size(); ++i)
    if (!c.type(x).shape[i].is(1) && !takesAll(op, broadcast.type.shape, node.type.shape, axes[i])) return {};
  return broadcasted(c.emit, x, axes, node.type.shape);
}

}  // namespace

ValueId simplifySlice(Canonical& c, const Node& node, const Slice& op) {
  const ValueId x = node.operands[0];
  if (c.type(x).shape == node.type.shape) {
    bool everything = true;
    for (size_t i = 0; i < op.start.size(); ++i) everything &= takesAll(op, node.type.shape, node.type.shape, i);
    if (everything) return x;
  }
  if (const auto splat = c.splat(x)) return c.emit.full(*splat, node.type.dtype, node.type.shape);
  if (const auto* inner = c.op<Slice>(x)) {
    Slice composed = op;
    for (size_t i = 0; i < op.start.size(); ++i) {
      const bool none = node.type.shape[i].is(0);  // may begin at the inner one's end, beyond which x may end
      composed.start[i] = none ? inner->start[i] : inner->start[i] + op.start[i] * Dim(inner->stride[i]);
      if (__builtin_mul_overflow(op.stride[i], inner->stride[i], &composed.stride[i])) return {};
    }
    return c.make(composed, {c.def(x).operands[0]}, node.type);
  }
  if (c.op<Concat>(x)) return sliceOfConcat(c, node, op);
  if (c.op<Broadcast>(x)) return sliceOfBroadcast(c, node, op);
  return {};
}

ValueId simplifyPad(Canonical& c, const Node& node, const Pad& op) {
  auto isZero = [](const Dim& d) { return d.is(0); };
  if (std::all_of(op.low.begin(), op.low.end(), isZero) && std::all_of(op.high.begin(), op.high.end(), isZero))
    return node.operands[0];
  if (const auto splat = c.splat(node.operands[0]); splat && *splat == op.value)
    return c.emit.full(*splat, node.type.dtype, node.type.shape);
  return {};
}

ValueId simplifyConcat(Canonical& c, const Node& node, const Concat& op) {
  std::vector<ValueId> pieces;
  for (ValueId v : node.operands) {
    const auto* inner = c.op<Concat>(v);
    if (inner && inner->axis == op.axis) {
      for (ValueId piece : c.def(v).operands) pieces.push_back(piece);
    } else if (!c.type(v).shape[op.axis].is(0)) {
      pieces.push_back(v);
    }
  }
  if (pieces.empty()) return node.operands[0];
  if (pieces.size() == 1) return pieces[0];
  const auto first = c.splat(pieces[0]);
  if (first && std::all_of(pieces.begin(), pieces.end(), [&](ValueId v) { return c.splat(v) == first; }))
    return c.emit.full(*first, node.type.dtype, node.type.shape);
  if (pieces == node.operands) return {};
  return c.make(op, pieces, node.type);
}

ValueId simplifyFlip(Canonical& c, const Node& node, const Flip& op) {
  const ValueId x = node.operands[0];
  if (const auto splat = c.splat(x)) return c.emit.full(*splat, node.type.dtype, node.type.shape);
  std::vector<Axis> axes;
  for (Axis axis : op.axes)
    if (!node.type.shape[axis].is(1) && !node.type.shape[axis].is(0)) axes.push_back(axis);
  ValueId source = x;
  if (const auto* inner = c.op<Flip>(x)) {
    std::vector<Axis> difference;
    std::set_symmetric_difference(axes.begin(), axes.end(), inner->axes.begin(), inner->axes.end(),
                                  std::back_inserter(difference));
    axes = std::move(difference);
    source = c.def(x).operands[0];
  }
  if (axes.empty()) return source;
  if (axes == op.axes && source == x) return {};
  return c.make(Flip{axes}, {source}, node.type);
}

}  // namespace tokamak
