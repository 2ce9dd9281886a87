#include <algorithm>

#include "passes/canonicalise/rules.h"

namespace tokamak {

namespace {

/// A fold over axes of extent 1 only rearranges. A float sum starts at 0.0, which turns -0.0 into 0.0.
ValueId foldOfOne(Canonical& c, const Node& node, const Reduce& op) {
  const ValueId x = node.operands[0];
  auto rearranged = [&](ValueId v) { return reshaped(c.emit, v, node.type.shape); };
  auto cast = [&](ValueId v) { return c.make(Cast{}, {v}, {node.type.dtype, c.type(v).shape}); };
  switch (op.kind) {
    case ReduceKind::max:
    case ReduceKind::min: return rearranged(x);
    case ReduceKind::sum:
    case ReduceKind::mean: {
      const ValueId same = rearranged(c.type(x).dtype == node.type.dtype ? x : cast(x));
      if (!isFloat(node.type.dtype)) return same;
      return c.binary(BinaryKind::add, same, c.emit.fullLike(same, 0.0));
    }
    case ReduceKind::prod:
    case ReduceKind::any:
    case ReduceKind::all: return rearranged(c.type(x).dtype == node.type.dtype ? x : cast(x));
    case ReduceKind::argmax:
    case ReduceKind::argmin: return c.emit.full(Scalar::of(int64_t{0}), DType::i64, node.type.shape);
    case ReduceKind::var: return {};
  }
  return {};
}

bool merges(ReduceKind kind) {
  return kind != ReduceKind::argmax && kind != ReduceKind::argmin && kind != ReduceKind::var;
}

}  // namespace

ValueId simplifyReduce(Canonical& c, const Node& node, const Reduce& op) {
  const ValueId x = node.operands[0];
  const Shape shape = c.type(x).shape;
  if (std::all_of(op.axes.begin(), op.axes.end(), [&](Axis axis) { return shape[axis].is(1); }))
    return foldOfOne(c, node, op);
  const auto* inner = c.op<Reduce>(x);
  // A partial fold that others read too is better read than repeated.
  if (!inner || inner->kind != op.kind || inner->identity != op.identity || !merges(op.kind) || c.isShared(x))
    return {};
  const ValueId y = c.def(x).operands[0];
  const auto kept = otherAxes(c.type(y).rank(), inner->axes);
  std::vector<Axis> axes = inner->axes;
  for (Axis axis : op.axes) axes.push_back(kept[axis]);
  std::sort(axes.begin(), axes.end());
  return c.make(Reduce{op.kind, axes, 0, op.identity}, {y}, node.type);
}

}  // namespace tokamak
