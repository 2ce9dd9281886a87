#include <cmath>
#include <limits>

#include "passes/decompose/expand.h"

namespace tokamak {

SoftmaxParts softmaxParts(Emitter& emit, ValueId x, Axis axis, bool flushed) {
  const Shape shape = emit.type(x).shape;
  SoftmaxParts parts;
  // The softmax of nothing is nothing, so a maximum of nothing is no mistake; it is asked for only where it may occur.
  const bool mayBeEmpty = shape[axis].constant().value_or(0) == 0;
  parts.maximum = emit.reduce(ReduceKind::max, x, {axis}, mayBeEmpty);
  parts.shifted = emit.binary(BinaryKind::sub, x, emit.spread(parts.maximum, {axis}, shape));
  ValueId exponent = parts.shifted;
  if (flushed) {
    const double least = std::log(static_cast<double>(std::numeric_limits<float>::min()));
    const ValueId tiny = emit.binary(BinaryKind::lt, exponent, least);
    exponent = emit.select(tiny, emit.fullLike(exponent, -std::numeric_limits<double>::infinity()), exponent);
  }
  parts.exponential = emit.unary(UnaryKind::exp, exponent);
  parts.sum = emit.reduce(ReduceKind::sum, parts.exponential, {axis});
  return parts;
}

ValueId expandSoftmax(Emitter& emit, const Node& node, const Softmax& op) {
  const Shape shape = node.type.shape;
  // Known to be nothing: no need to compute it.
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
