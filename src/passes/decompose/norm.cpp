#include <fmt/format.h>

#include <optional>

#include "passes/decompose/expand.h"

namespace tokamak {

Moments moments(Emitter& emit, ValueId x, const std::vector<Axis>& axes) {
  const Shape shape = emit.type(x).shape;
  Moments m;
  m.mean = emit.reduce(ReduceKind::mean, x, axes);
  m.centred = emit.binary(BinaryKind::sub, x, emit.spread(m.mean, axes, shape));
  m.variance = emit.reduce(ReduceKind::mean, emit.binary(BinaryKind::mul, m.centred, m.centred), axes);
  return m;
}

namespace {

/// The operands of a Norm by role; absent ones are invalid.
struct NormOperands {
  ValueId x, weight, bias, mean, variance;
};

NormOperands operandsOf(const Node& node, const Norm& op) {
  NormOperands o{node.operands[0], {}, {}, {}, {}};
  size_t next = 1;
  if (op.affine) {
    o.weight = node.operands[next++];
    if (op.kind != NormKind::rms) o.bias = node.operands[next++];
  }
  if (next < node.operands.size()) {
    o.mean = node.operands[next++];
    o.variance = node.operands[next];
  }
  return o;
}

ValueId reciprocalDeviation(Emitter& emit, ValueId variance, double eps) {
  return emit.unary(UnaryKind::rsqrt, emit.binary(BinaryKind::add, variance, eps));
}

/// y * weight + bias, with the parameters (of any rank) standing at `axes` of y.
ValueId applyAffine(Emitter& emit, ValueId y, const NormOperands& o, const std::vector<Axis>& axes) {
  const Shape shape = emit.type(y).shape;
  Shape parameterShape;
  for (Axis axis : axes) parameterShape.push_back(shape[axis]);
  auto parameter = [&](ValueId p) {
    const ValueId wide = emit.cast(p, emit.type(y).dtype, true);
    return emit.broadcast(emit.reshape(wide, parameterShape), axes, shape);
  };
  if (o.weight.valid()) y = emit.binary(BinaryKind::mul, y, parameter(o.weight));
  if (o.bias.valid()) y = emit.binary(BinaryKind::add, y, parameter(o.bias));
  return y;
}

ValueId normalise(Emitter& emit, ValueId x, const std::vector<Axis>& axes, double eps) {
  const Shape shape = emit.type(x).shape;
  const Moments m = moments(emit, x, axes);
  return emit.binary(BinaryKind::mul, m.centred, emit.spread(reciprocalDeviation(emit, m.variance, eps), axes, shape));
}

ValueId rootMeanSquare(Emitter& emit, ValueId x, const std::vector<Axis>& axes, double eps) {
  const Shape shape = emit.type(x).shape;
  const ValueId meanSquare = emit.reduce(ReduceKind::mean, emit.binary(BinaryKind::mul, x, x), axes);
  return emit.binary(BinaryKind::mul, x, emit.spread(reciprocalDeviation(emit, meanSquare, eps), axes, shape));
}

/// With known statistics factor and summand of a channel are computed once a channel: two ops an element, which a
/// library applies to its product. As in eager: scale = weight / deviation, shift = bias - mean * scale. Both are
/// rounded once, from f64: a scale's error is the same in every element, so that nothing averages it away.
ValueId inferenceBatch(Emitter& emit, ValueId x, NormOperands o, double eps) {
  const TensorType type = emit.type(x);
  auto channelwise = [&](ValueId v) { return emit.broadcast(emit.cast(v, type.dtype, true), {1}, type.shape); };
  auto wide = [&](ValueId v) { return emit.cast(v, DType::f64, true); };
  ValueId scale = reciprocalDeviation(emit, wide(o.variance), eps);
  if (o.weight.valid()) scale = emit.binary(BinaryKind::mul, scale, wide(o.weight));
  const ValueId drift = emit.binary(BinaryKind::mul, wide(o.mean), scale);
  const ValueId shift =
      o.bias.valid() ? emit.binary(BinaryKind::sub, wide(o.bias), drift) : emit.unary(UnaryKind::neg, drift);
  return emit.binary(BinaryKind::add, emit.binary(BinaryKind::mul, x, channelwise(scale)), channelwise(shift));
}

/// [N, C, ...] as [N, groups, C / groups, ...]; nothing where that is not known to divide.
std::optional<Shape> groupedShape(const Shape& shape, int64_t groups) {
  const Dim perGroup = Dim::floorDiv(shape[1], groups);
  if (!(perGroup * Dim(groups) == shape[1])) return std::nullopt;
  Shape grouped{shape[0], groups, perGroup};
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  return grouped;
}

}  // namespace

Result<ValueId> expandNorm(Emitter& emit, const Node& node, const Norm& op) {
  const NormOperands o = operandsOf(node, op);
  const ValueId x = emit.widen(o.x);
  const Shape shape = node.type.shape;
  const Axis rank = static_cast<Axis>(shape.size());
  ValueId y;
  switch (op.kind) {
    case NormKind::layer:
    case NormKind::rms: {
      const auto axes = axisRange(rank - op.axes, rank);
      y = op.kind == NormKind::layer ? normalise(emit, x, axes, op.eps) : rootMeanSquare(emit, x, axes, op.eps);
      y = applyAffine(emit, y, o, axes);
      break;
    }
    case NormKind::batch:
      if (o.mean.valid())
        y = inferenceBatch(emit, x, o, op.eps);
      else
        y = applyAffine(emit, normalise(emit, x, otherAxes(shape.size(), {1}), op.eps), o, {1});
      break;
    case NormKind::instance: y = applyAffine(emit, normalise(emit, x, axisRange(2, rank), op.eps), o, {1}); break;
    case NormKind::group: {
      const auto grouped = groupedShape(shape, op.groups);
      if (!grouped)
        return Diagnostic{"T0290", node.location,
                          fmt::format("group norm cannot split {} channels into {} groups", shape[1].str(), op.groups),
                          "give the channel axis an extent that is a known multiple of the number of groups"};
      const ValueId groupsOfX = emit.reshape(x, *grouped);
      y = normalise(emit, groupsOfX, axisRange(2, rank + 1), op.eps);
      y = emit.reshape(applyAffine(emit, y, o, {1, 2}), shape);
      break;
    }
  }
  return emit.narrow(y, node.type.dtype);
}

ValueId expandVariance(Emitter& emit, const Node& node, const Reduce& op) {
  const ValueId x = emit.widen(node.operands[0]);
  const Shape shape = emit.type(x).shape;
  if (op.correction == 0) return emit.narrow(moments(emit, x, op.axes).variance, node.type.dtype);
  const ValueId mean = emit.reduce(ReduceKind::mean, x, op.axes);
  const ValueId centred = emit.binary(BinaryKind::sub, x, emit.spread(mean, op.axes, shape));
  const ValueId sum = emit.reduce(ReduceKind::sum, emit.binary(BinaryKind::mul, centred, centred), op.axes);
  ValueId degrees =
      emit.binary(BinaryKind::sub, emit.count(shape, op.axes, emit.type(x).dtype), static_cast<double>(op.correction));
  degrees = emit.binary(BinaryKind::max, degrees, 0.0);
  const ValueId variance = emit.binary(BinaryKind::div, sum, emit.broadcast(degrees, {}, node.type.shape));
  return emit.narrow(variance, node.type.dtype);
}

}  // namespace tokamak
