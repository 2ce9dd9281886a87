#include <fmt/format.h>

#include "schedule/emitter.h"
#include "schedule/identity.h"

namespace tokamak::schedule {

namespace {

/// Calls `body` with an index for each window axis: repeated in place for small windows, in loops for others.
void overWindow(Emitter& e, const std::vector<Dim>& extents,
                const std::function<void(const std::vector<Index>&)>& body) {
  std::vector<Index> position(extents.size());
  const auto total = elementCount(extents).constant();
  const bool repeat = total && *total <= 16;
  std::function<void(size_t)> nest = [&](size_t axis) {
    if (axis == extents.size()) return body(position);
    IndexMath m(e.w, 1);
    if (repeat) {
      for (int64_t k = 0; k < *extents[axis].constant(); ++k) {
        position[axis] = m.constant(k);
        nest(axis + 1);
      }
      return;
    }
    e.loop("k", e.w.i64(0), e.w.dim(extents[axis]), 1, kernel::Binding::serial, [&](ExprId k) {
      position[axis] = {k, 0, 1, {}};
      nest(axis + 1);
    });
  };
  nest(0);
}

/// Running fold of a window: maximum, position of the maximum, or sum.
class WindowFold {
 public:
  WindowFold(Writer& w, PoolKind kind, DType type, int lanes) : w_(w), kind_(kind) {
    const Scalar start = kind == PoolKind::avg ? Scalar::of(0.0) : identityOf(BinaryKind::max, type);
    value_ = w.declare("fold", w.imm(start, type, lanes));
    if (kind == PoolKind::argmax) position_ = w.declare("position", w.imm(Scalar::of(int64_t{-1}), DType::i64, lanes));
  }
  void take(ExprId x, ExprId inside, ExprId position) {
    const int lanes = w_.lanes(w_.get(value_));
    x = w_.splat(x, lanes);
    const ExprId old = w_.get(value_);
    if (kind_ == PoolKind::argmax) {
      const ExprId before = w_.get(position_);
      ExprId better = w_.binary(BinaryKind::bit_or, w_.binary(BinaryKind::gt, x, old),
                                w_.binary(BinaryKind::lt, before, w_.i64(0)));
      if (isFloat(w_.type(x).dtype)) better = w_.binary(BinaryKind::bit_or, better, w_.unary(UnaryKind::isnan, x));
      better = w_.let("better", w_.splat(w_.both(better, inside), lanes));
      w_.assign(value_, w_.select(better, x, old));
      w_.assign(position_, w_.select(better, w_.splat(position, lanes), before));
      return;
    }
    const ExprId next = w_.binary(kind_ == PoolKind::avg ? BinaryKind::add : BinaryKind::max, old, x);
    w_.assign(value_, inside ? w_.select(w_.splat(inside, lanes), next, old) : next);
  }
  ExprId result() { return w_.get(kind_ == PoolKind::argmax ? position_ : value_); }

 private:
  Writer& w_;
  PoolKind kind_;
  kernel::VarId value_, position_;
};

/// How many of a window's `size` elements, `dilation` apart from `start` on, lie below `limit`, and at 0 or above if
/// `fromZero`.
ExprId elementsWithin(Writer& w, ExprId start, int64_t size, int64_t dilation, bool fromZero, ExprId limit) {
  const auto least = [&](ExprId a, ExprId b) { return w.binary(BinaryKind::min, a, b); };
  const auto most = [&](ExprId a, ExprId b) { return w.binary(BinaryKind::max, a, b); };
  if (dilation == 1) {
    const ExprId end = least(w.add(start, w.i64(size)), limit), begin = fromZero ? most(start, w.i64(0)) : start;
    return most(w.sub(end, begin), w.i64(0));
  }
  const auto stepsTo = [&](ExprId place) {  // elements before it, where there is no end of them
    const ExprId up = w.add(w.sub(place, start), w.i64(dilation - 1));
    return least(most(w.binary(BinaryKind::div, up, w.i64(dilation)), w.i64(0)), w.i64(size));
  };
  const ExprId below = stepsTo(limit);
  return fromZero ? most(w.sub(below, stepsTo(w.i64(0))), w.i64(0)) : below;
}

}  // namespace

ExprId Emitter::pool(ValueId v, const Pool& op, const At& at) {
  const Node& node = graph_.node(v);
  const TensorType& from = graph_.type(node.operands[0]);
  const size_t k = op.window.size(), first = from.rank() - k;
  const DType type = computeType(from.dtype);
  auto m = math(at);
  WindowFold fold(w, op.kind, type, at.lanes);
  overWindow(*this, Shape(op.window.begin(), op.window.end()), [&](const std::vector<Index>& offset) {
    At inner = at;
    ExprId inside;
    Index position = m.constant(0);
    for (size_t s = 0; s < k; ++s) {
      const Index i = m.add(m.add(m.mul(at.index[first + s], Dim(op.stride[s])), Dim(-op.low[s])),
                            m.mul(offset[s], Dim(op.dilation[s])));
      if (op.low[s] != 0) inside = w.both(inside, m.atLeast(i, 0));
      if (op.high[s] != 0) inside = w.both(inside, m.below(i, from.shape[first + s]));
      position = m.add(m.mul(position, from.shape[first + s]), i);
      inner.index[first + s] = i;
    }
    if (inside) inside = w.let("inside", inside);
    inner.mask = w.both(inner.mask, inside);
    fold.take(value(node.operands[0], inner), inside, m.expr(position));
  });
  if (op.kind != PoolKind::avg) return fold.result();
  if (op.divisor != 0) return w.binary(BinaryKind::div, fold.result(), w.imm(Scalar::of(double(op.divisor)), type));
  ExprId count = w.i64(1);
  for (size_t s = 0; s < k; ++s) {
    const int64_t extra = op.extraHigh.empty() ? 0 : op.extraHigh[s];
    const bool clipped = op.countPad ? extra != 0 : op.low[s] != 0 || op.high[s] != 0;
    if (!clipped) {
      count = w.mul(count, w.i64(op.window[s]));
      continue;
    }
    const Index start = m.add(m.mul(at.index[first + s], Dim(op.stride[s])), Dim(-op.low[s]));
    const Dim limit = op.countPad ? from.shape[first + s] + Dim(op.high[s] - extra) : from.shape[first + s];
    count = w.mul(count, elementsWithin(w, m.expr(start), op.window[s], op.dilation[s], !op.countPad, w.dim(limit)));
  }
  return w.binary(BinaryKind::div, fold.result(), w.convert(count, type));
}

ExprId Emitter::adaptivePool(ValueId v, const AdaptivePool& op, const At& at) {
  const Node& node = graph_.node(v);
  const TensorType& from = graph_.type(node.operands[0]);
  const size_t k = op.spatial, first = from.rank() - k;
  const DType type = computeType(from.dtype);
  auto m = math(at);
  std::vector<Index> start(k), size(k);
  Shape window;
  for (size_t s = 0; s < k; ++s) {
    const Dim n = from.shape[first + s], o = node.type.shape[first + s];
    const Dim exact = Dim::floorDiv(n, o);
    if (Dim::mod(n, o).is(0) && !o.is(0)) {
      start[s] = m.mul(at.index[first + s], exact);
      size[s] = m.constant(exact);
      window.push_back(exact);
      continue;
    }
    const Index scaled = m.mul(at.index[first + s], n);
    start[s] = m.fromExpr(w.let("start", m.expr(m.div(scaled, o))));
    const Index end = m.div(m.add(scaled, n + o - Dim(1)), o);
    size[s] = m.fromExpr(w.let("size", w.sub(m.expr(end), m.expr(start[s]))));
    window.push_back(Dim::floorDiv(n + o - Dim(1), o) + Dim(1));
  }
  WindowFold fold(w, op.kind, type, at.lanes);
  overWindow(*this, window, [&](const std::vector<Index>& offset) {
    At inner = at;
    ExprId inside;
    Index position = m.constant(0);
    for (size_t s = 0; s < k; ++s) {
      const Index i = m.add(start[s], offset[s]);
      const Dim n = from.shape[first + s], o = node.type.shape[first + s];
      if (!(Dim::mod(n, o).is(0) && !o.is(0)))
        inside = w.both(inside, w.binary(BinaryKind::lt, m.expr(offset[s]), m.expr(size[s])));
      position = m.add(m.mul(position, n), i);
      inner.index[first + s] = i;
    }
    if (inside) inside = w.let("inside", inside);
    inner.mask = w.both(inner.mask, inside);
    fold.take(value(node.operands[0], inner), inside, m.expr(position));
  });
  if (op.kind != PoolKind::avg) return fold.result();
  ExprId count = w.i64(1);
  for (const Index& s : size) count = w.mul(count, m.expr(s));
  return w.binary(BinaryKind::div, fold.result(), w.convert(count, type));
}

ExprId Emitter::resize(ValueId v, const Resize& op, const At& at) {
  const Node& node = graph_.node(v);
  const TensorType& from = graph_.type(node.operands[0]);
  const size_t k = op.spatial, first = from.rank() - k;
  const DType type = from.dtype == DType::f64 ? DType::f64 : DType::f32;
  auto m = math(at);
  auto number = [&](double x) { return w.imm(Scalar::of(x), type); };
  auto extent = [&](const Dim& d) { return w.convert(w.dim(d), type); };
  struct Source {
    ExprId low, high, weight;
  };
  std::vector<Source> source(k);
  for (size_t s = 0; s < k; ++s) {
    const Dim n = from.shape[first + s], o = node.type.shape[first + s];
    const ExprId last = w.dim(n - Dim(1));
    ExprId scale;
    if (op.kind == ResizeKind::linear && op.alignCorners)
      scale = o.is(1) ? number(0)
                      : w.select(w.binary(BinaryKind::gt, w.dim(o), w.i64(1)),
                                 w.binary(BinaryKind::div, extent(n - Dim(1)), extent(o - Dim(1))), number(0));
    else if (s < op.scale.size() && op.scale[s] > 0)
      scale = number(roundTo(type, 1.0 / op.scale[s]));
    else
      scale = w.binary(BinaryKind::div, extent(n), extent(o));
    const ExprId here = w.convert(m.expr(at.index[first + s]), type);
    if (op.kind == ResizeKind::nearest) {
      const ExprId i = w.convert(w.unary(UnaryKind::floor, w.mul(here, scale)), DType::i64);
      source[s].low = w.let("near", w.binary(BinaryKind::min, i, last));
      continue;
    }
    // The product is positive as it is; taking its magnitude keeps it from contracting with the subtraction, by which a
    // weight of zero would become a tiny one.
    ExprId real = op.alignCorners ? w.mul(here, scale)
                                  : w.sub(w.unary(UnaryKind::abs, w.mul(w.add(here, number(0.5)), scale)), number(0.5));
    if (!op.alignCorners) real = w.binary(BinaryKind::max, real, number(0));
    real = w.let("real", real);
    const ExprId low =
        w.let("low", w.binary(BinaryKind::min, w.convert(w.unary(UnaryKind::floor, real), DType::i64), last));
    source[s] = {
        low, w.let("high", w.binary(BinaryKind::min, w.add(low, w.i64(1)), last)),
        w.let("weight", w.binary(BinaryKind::min,
                                 w.binary(BinaryKind::max, w.sub(real, w.convert(low, type)), number(0)), number(1)))};
  }
  At inner = at;
  std::function<ExprId(size_t)> blend = [&](size_t s) -> ExprId {
    if (s == k) return value(node.operands[0], inner);
    inner.index[first + s] = m.fromExpr(source[s].low);
    const ExprId a = blend(s + 1);
    if (op.kind == ResizeKind::nearest) return a;
    inner.index[first + s] = m.fromExpr(source[s].high);
    const ExprId b = blend(s + 1);
    return w.add(w.mul(a, w.sub(number(1), source[s].weight)), w.mul(b, source[s].weight));
  };
  return blend(0);
}

}  // namespace tokamak::schedule
