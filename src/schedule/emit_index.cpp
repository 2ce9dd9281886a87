#include <functional>

#include "schedule/emitter.h"

namespace tokamak::schedule {

ExprId Emitter::pad(const Node& node, const Pad& op, const At& at) {
  const TensorType& from = graph_.type(node.operands[0]);
  auto m = math(at);
  At inner{{}, at.lanes, at.mask, at.tail};
  ExprId inside;
  for (size_t i = 0; i < from.rank(); ++i) {
    const Index shifted = m.add(at.index[i], op.low[i] * Dim(-1));
    if (!op.low[i].is(0)) inside = w.both(inside, m.atLeast(shifted, 0));
    if (!op.high[i].is(0)) inside = w.both(inside, m.below(shifted, from.shape[i]));
    inner.index.push_back(shifted);
  }
  if (!inside) return value(node.operands[0], inner);
  inside = w.let("inside", inside);
  inner.mask = w.both(inner.mask, inside);
  const DType type = computeType(node.type.dtype);
  const Scalar fill = isFloat(type) ? Scalar::of(roundTo(node.type.dtype, op.value.asDouble()))
                                    : Scalar::of(wrapTo(type, op.value.asInt()));
  return w.select(inside, value(node.operands[0], inner), w.imm(fill, type));
}

/// Above so many operands a concatenation finds out which one it reads, by halves; of a few it takes what all have.
constexpr size_t kTaken = 3;

ExprId Emitter::concat(const Node& node, const Concat& op, const At& at) {
  auto m = math(at);
  Dim start = 0;
  if (holds_.empty() && node.operands.size() > kTaken) {
    std::vector<Dim> starts;
    bool whole = true;  // vectors lie within one operand
    for (ValueId operand : node.operands) {
      whole = whole && m.onOneSide(at.index[op.axis], start);
      starts.push_back(start);
      start = start + graph_.type(operand).shape[op.axis];
    }
    if (whole) return found(node, op.axis, starts, at);
    start = 0;
  }
  ExprId result;
  for (size_t k = 0; k < node.operands.size(); ++k) {
    const Dim extent = graph_.type(node.operands[k]).shape[op.axis];
    At inner = at;
    inner.index[op.axis] = m.add(at.index[op.axis], start * Dim(-1));
    ExprId mine;
    if (k > 0) mine = w.both(mine, m.atLeast(at.index[op.axis], start));
    if (k + 1 < node.operands.size()) mine = w.both(mine, m.below(at.index[op.axis], start + extent));
    if (mine) mine = w.let("mine", mine);
    inner.mask = w.both(inner.mask, mine);
    const ExprId x = value(node.operands[k], inner);
    result = result ? w.select(mine, x, result) : x;
    start = start + extent;
  }
  return result;
}

ExprId Emitter::found(const Node& node, Axis axis, const std::vector<Dim>& starts, const At& at) {
  auto m = math(at);
  const DType type = computeType(node.type.dtype);
  const kernel::VarId result =
      w.declare("piece", w.imm(isFloat(type) ? Scalar::of(0.0) : Scalar::of(int64_t{0}), type, at.lanes));
  const std::function<void(size_t, size_t)> among = [&](size_t begin, size_t end) {
    if (end - begin == 1) {
      At inner = at;
      inner.index[axis] = m.add(at.index[axis], starts[begin] * Dim(-1));
      return w.assign(result, value(node.operands[begin], inner));
    }
    const size_t middle = begin + (end - begin) / 2;
    w.when(m.below(at.index[axis], starts[middle]), scoped([&, begin, middle] { among(begin, middle); }),
           scoped([&, middle, end] { among(middle, end); }));
  };
  among(0, node.operands.size());
  return w.get(result);
}

ExprId Emitter::pick(const Node& node, const At& at) {
  const ValueId source = node.operands[0], chosen = node.operands[1];
  const Shape& shape = graph_.type(source).shape;
  At where = at, inner = at;
  Axis axis = 0;
  bool checked = false;
  if (auto* op = std::get_if<Gather>(&node.op)) {
    axis = op->axis, checked = op->checked;
  } else {
    axis = std::get<IndexSelect>(node.op).axis, checked = std::get<IndexSelect>(node.op).checked;
    const size_t rank = graph_.type(chosen).rank();
    where.index.assign(at.index.begin() + axis, at.index.begin() + axis + rank);
    inner.index.erase(inner.index.begin() + axis, inner.index.begin() + axis + rank);
    inner.index.insert(inner.index.begin() + axis, Index{});
  }
  const ExprId extent = w.dim(shape[axis]);
  ExprId i = w.convert(value(chosen, where), DType::i64);
  if (checked) {
    ExprId on = w.lanes(i) == 1 ? at.mask : w.both(at.mask, at.tail);  // one lane of the tail is always on
    if (on) on = w.lanes(i) == 1 ? w.fold(BinaryKind::bit_or, on) : w.splat(on, w.lanes(i));
    i = w.within(i, extent, on);
  } else {
    i = w.select(w.binary(BinaryKind::lt, i, w.i64(0)), w.add(i, extent), i);
    i = w.binary(BinaryKind::max, w.binary(BinaryKind::min, i, w.sub(extent, w.i64(1))), w.i64(0));
  }
  inner.index[axis] = math(at).fromExpr(w.let("row", i));
  return value(source, inner);
}

ExprId Emitter::random(const Node& node, const Random& op, const At& at) {
  const DType type = computeType(node.type.dtype);
  const At scalar{{}, 1, {}, {}};
  const ExprId seed = value(node.operands[0], scalar), offset = value(node.operands[1], scalar);
  const ExprId element = math(at).expr(flatten(node.type.shape, at));
  const DType real = type == DType::f64 ? DType::f64 : DType::f32;
  auto unit = [&](ExprId word) {  // the top 24 bits
    return w.convert(w.binary(BinaryKind::shr, word, w.i64(8)), real);
  };
  const ExprId scale = w.imm(Scalar::of(0x1p-24), real);
  if (op.kind == RandomKind::bits) return w.convert(w.philox(seed, offset, element), type);
  if (op.kind == RandomKind::uniform) return w.convert(w.mul(unit(w.philox(seed, offset, element)), scale), type);
  const ExprId one = w.i64(1);
  const ExprId odd = w.binary(BinaryKind::bit_and, element, one);
  const ExprId even = w.let("pair", w.sub(element, odd));
  const ExprId u1 = w.mul(w.add(unit(w.philox(seed, offset, even)), w.imm(Scalar::of(1.0), real)), scale);
  const ExprId u2 = w.mul(unit(w.philox(seed, offset, w.add(even, one))), scale);
  const ExprId radius = w.unary(UnaryKind::sqrt, w.mul(w.unary(UnaryKind::log, u1), w.imm(Scalar::of(-2.0), real)));
  const ExprId angle = w.let("angle", w.mul(u2, w.imm(Scalar::of(6.283185307179586), real)));
  const ExprId turn =
      w.select(w.binary(BinaryKind::ne, odd, w.i64(0)), w.unary(UnaryKind::sin, angle), w.unary(UnaryKind::cos, angle));
  return w.convert(w.mul(radius, turn), type);
}

}  // namespace tokamak::schedule
