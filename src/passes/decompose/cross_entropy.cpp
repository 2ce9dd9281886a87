#include "passes/decompose/expand.h"

namespace tokamak {

namespace {

/// x[i, target[i]] for every row i.
ValueId pick(Emitter& emit, ValueId x, ValueId target) {
  const Dim rows = emit.type(x).shape[0];
  const ValueId column = emit.reshape(target, {rows, 1});
  const ValueId picked = emit.append(Gather{1}, {x, column}, {emit.type(x).dtype, {rows, 1}});
  return emit.reshape(picked, {rows});
}

/// Loss of every row: log sum exp(x - max) - (x[target] - max), and with smoothing its mix with the mean over classes.
ValueId rowLoss(Emitter& emit, ValueId x, ValueId target, double smoothing) {
  const SoftmaxParts parts = softmaxParts(emit, x, 1);
  const ValueId logSum = emit.unary(UnaryKind::log, parts.sum);
  const ValueId shifted = emit.binary(BinaryKind::sub, pick(emit, x, target), parts.maximum);
  const ValueId nll = emit.binary(BinaryKind::sub, logSum, shifted);
  if (smoothing == 0) return nll;
  const ValueId uniform = emit.binary(BinaryKind::sub, logSum, emit.reduce(ReduceKind::mean, parts.shifted, {1}));
  return emit.binary(BinaryKind::add, emit.binary(BinaryKind::mul, nll, 1.0 - smoothing),
                     emit.binary(BinaryKind::mul, uniform, smoothing));
}

}  // namespace

ValueId expandCrossEntropy(Emitter& emit, const Node& node, const CrossEntropy& op) {
  const ValueId x = emit.widen(node.operands[0]);
  const ValueId target = node.operands[1];
  const TensorType targetType = emit.type(target);
  auto targetFull = [&](int64_t v) { return emit.full(Scalar::of(v), targetType.dtype, targetType.shape); };
  const ValueId counted = emit.binary(BinaryKind::ne, target, targetFull(op.ignore));
  const ValueId safeTarget = emit.select(counted, target, targetFull(0));
  ValueId loss = rowLoss(emit, x, safeTarget, op.smoothing);
  loss = emit.select(counted, loss, emit.fullLike(loss, 0.0));
  if (op.reduction != LossReduction::none) {
    loss = emit.reduce(ReduceKind::sum, loss, {0});
    if (op.reduction == LossReduction::mean) {
      const ValueId rows = emit.reduce(ReduceKind::sum, emit.cast(counted, emit.type(loss).dtype), {0});
      loss = emit.binary(BinaryKind::div, loss, rows);
    }
  }
  return emit.narrow(loss, node.type.dtype);
}

}  // namespace tokamak
