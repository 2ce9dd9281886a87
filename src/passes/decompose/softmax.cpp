#include "passes/decompose/expand.h"

namespace tokamak {

SoftmaxParts softmaxParts(Emitter& emit, ValueId x, Axis axis) {
  const Shape shape = emit.type(x).shape;
  SoftmaxParts parts;
  parts.maximum = emit.reduce(ReduceKind::max, x, {axis});
  parts.shifted = emit.binary(BinaryKind::sub, x, emit.spread(parts.maximum, {axis}, shape));
  parts.exponential = emit.unary(UnaryKind::exp, parts.shifted);
  parts.sum = emit.reduce(ReduceKind::sum, parts.exponential, {axis});
  return parts;
}

ValueId expandSoftmax(Emitter& emit, const Node& node, const Softmax& op) {
  const Shape shape = node.type.shape;
  // A fold by max wants a non-empty extent; the softmax of nothing is nothing.
  if (shape[op.axis].is(0)) return emit.full(Scalar::of(0.0), node.type.dtype, shape);
  const ValueId x = emit.widen(node.operands[0]);
  const SoftmaxParts parts = softmaxParts(emit, x, op.axis);
  ValueId result;
  if (op.log) {
    const ValueId logSum = emit.unary(UnaryKind::log, parts.sum);
    result = emit.binary(BinaryKind::sub, parts.shifted, emit.spread(logSum, {op.axis}, shape));
  } else {
    result = emit.binary(BinaryKind::div, parts.exponential, emit.spread(parts.sum, {op.axis}, shape));
  }
  return emit.narrow(result, node.type.dtype);
}

}  // namespace tokamak
