#include <cmath>
#include <limits>

#include "passes/decompose/expand.h"

namespace tokamak {

namespace {

/// scores * scale; 1 / sqrt(E) where the op leaves it open, also when E is symbolic.
ValueId scaled(Emitter& emit, ValueId scores, const Attention& op, const Dim& embedding) {
  if (op.scale != 0) return emit.binary(BinaryKind::mul, scores, op.scale);
  if (auto e = embedding.constant())
    return emit.binary(BinaryKind::mul, scores, 1.0 / std::sqrt(static_cast<double>(*e)));
  const TensorType type = emit.type(scores);
  const ValueId factor = emit.unary(UnaryKind::rsqrt, emit.count({embedding}, {0}, type.dtype));
  return emit.binary(BinaryKind::mul, scores, emit.broadcast(factor, {}, type.shape));
}

ValueId masked(Emitter& emit, ValueId scores, ValueId mask) {
  const TensorType type = emit.type(scores);
  const Axis rank = static_cast<Axis>(type.rank());
  auto toScores = [&](ValueId v) {
    return emit.broadcast(v, axisRange(rank - static_cast<Axis>(emit.type(v).rank()), rank), type.shape);
  };
  if (emit.type(mask).dtype != DType::boolean)
    return emit.binary(BinaryKind::add, scores, toScores(emit.cast(mask, type.dtype, true)));
  return emit.select(toScores(mask), scores, emit.fullLike(scores, -std::numeric_limits<double>::infinity()));
}

/// Hides key j from query i when j > i.
ValueId causal(Emitter& emit, ValueId scores) {
  const Shape shape = emit.type(scores).shape;
  const Axis rank = static_cast<Axis>(shape.size());
  const ValueId query = emit.iota(DType::i32, shape, rank - 2);
  const ValueId key = emit.iota(DType::i32, shape, rank - 1);
  const ValueId visible = emit.binary(BinaryKind::le, key, query);
  return emit.select(visible, scores, emit.fullLike(scores, -std::numeric_limits<double>::infinity()));
}

/// Rows with nothing visible have the maximum -inf; they come out as zero rather than NaN.
ValueId zeroHiddenRows(Emitter& emit, ValueId weights, ValueId maximum, Axis axis) {
  const Shape shape = emit.type(weights).shape;
  const ValueId hidden = emit.binary(BinaryKind::eq, maximum, -std::numeric_limits<double>::infinity());
  return emit.select(emit.spread(hidden, {axis}, shape), emit.fullLike(weights, 0.0), weights);
}

}  // namespace

ValueId expandAttention(Emitter& emit, const Node& node, const Attention& op) {
  const ValueId q = node.operands[0], k = node.operands[1], v = node.operands[2];
  const Axis last = static_cast<Axis>(node.type.rank()) - 1;
  const Dim embedding = emit.type(q).shape[last];
  // With no keys the second product sums over nothing.
  if (emit.type(k).shape[last - 1].is(0)) return emit.full(Scalar::of(0.0), node.type.dtype, node.type.shape);
  ValueId scores = emit.matmul(q, k, MatMul{.transposeB = true, .wide = true});
  scores = scaled(emit, scores, op, embedding);
  if (op.causal) scores = causal(emit, scores);
  if (node.operands.size() > 3) scores = masked(emit, scores, node.operands[3]);
  // What is hidden by adding -100 weighs 4e-44, on which many processors take a hundred times as long. The kernel that
  // is stood in for has zeros there.
  const SoftmaxParts parts = softmaxParts(emit, scores, last, op.safe);
  const Shape shape = emit.type(scores).shape;
  ValueId weights = emit.binary(BinaryKind::div, parts.exponential, emit.spread(parts.sum, {last}, shape));
  if (op.safe) weights = zeroHiddenRows(emit, weights, parts.maximum, last);
  return emit.matmul(emit.narrow(weights, emit.type(v).dtype), v, MatMul{});
}

}  // namespace tokamak
