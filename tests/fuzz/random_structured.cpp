#include <algorithm>
#include <cmath>

#include "fuzz/generator.h"

namespace tokamak::fuzz {

bool Generator::gather() {
  const auto x = anyWhere([](const TensorType& t) { return t.rank() > 0; });
  if (!x) return false;
  Shape shape = type(*x).shape;
  const auto axis = static_cast<size_t>(rng_.below(static_cast<int64_t>(shape.size())));
  const Dim extent = shape[axis];
  if (least(extent) == 0) return false;
  if (rng_.chance(0.7)) shape[axis] = someExtent();
  for (size_t i = 0; i < shape.size(); ++i)
    if (auto n = shape[i].constant(); i != axis && n && *n > 0 && rng_.chance(0.2)) shape[i] = Dim(rng_.between(1, *n));
  if (!fits(shape)) return false;
  add(Gather{static_cast<Axis>(axis)}, {*x, indexInto(extent, shape)}, bound(*x));
  return true;
}

bool Generator::indexSelect() {
  const auto x = anyWhere([](const TensorType& t) { return t.rank() > 0 && t.rank() < 4; });
  if (!x) return false;
  const Shape from = type(*x).shape;
  const auto axis = static_cast<size_t>(rng_.below(static_cast<int64_t>(from.size())));
  if (least(from[axis]) == 0) return false;
  const Shape picked = someShape(static_cast<size_t>(rng_.between(0, 2)));
  if (!fits({elementCount(from) * elementCount(picked)})) return false;
  add(IndexSelect{static_cast<Axis>(axis)}, {*x, indexInto(from[axis], picked)}, bound(*x));
  return true;
}

bool Generator::scatter() {
  const auto found = anyWhere([](const TensorType& t) { return t.rank() > 0 && t.dtype != DType::boolean; });
  if (!found) return false;
  ValueId x = tame(*found, 100);
  const TensorType t = type(x);
  Shape shape = t.shape;
  const auto axis = static_cast<size_t>(rng_.below(static_cast<int64_t>(shape.size())));
  if (least(shape[axis]) == 0) return false;
  if (rng_.chance(0.7)) shape[axis] = someExtent();
  if (!fits(shape)) return false;
  auto kind = static_cast<ScatterKind>(rng_.below(5));
  const double count = static_cast<double>(typical(shape[axis])) * 4;
  if (isFloat(t.dtype) && kind == ScatterKind::mul && count > 30) kind = ScatterKind::add;
  const ValueId index = indexInto(t.shape[axis], shape);
  const ValueId source = tame(like({t.dtype, shape}), kind == ScatterKind::mul ? 1.25 : 100);
  add(Scatter{static_cast<Axis>(axis), kind}, {x, index, source}, bound(x) + bound(source) * count);
  return true;
}

bool Generator::random() {
  const ValueId seed = fullInt(rng_.below(1000), {DType::i64, {}}),
                offset = fullInt(rng_.below(1000), {DType::i64, {}});
  const auto kind = static_cast<RandomKind>(rng_.below(3));
  const TensorType t{kind == RandomKind::bits ? DType::i64 : floatType(), type(any()).shape};
  add(Random{kind}, {seed, offset}, kind == RandomKind::bits ? 0x1p32 : 6, &t);
  return true;
}

bool Generator::dropout() {
  const ValueId x = anyFloat();
  const ValueId seed = fullInt(rng_.below(1000), {DType::i64, {}}),
                offset = fullInt(rng_.below(1000), {DType::i64, {}});
  add(Dropout{static_cast<double>(rng_.below(4)) / 4}, {x, seed, offset}, bound(x) * 4);
  return true;
}

bool Generator::pool() {
  const auto k = static_cast<size_t>(rng_.between(1, 2));
  const auto found = anyWhere([&](const TensorType& t) {
    return t.rank() >= k && t.dtype != DType::boolean &&
           std::all_of(t.shape.end() - static_cast<int64_t>(k), t.shape.end(),
                       [&](const Dim& d) { return least(d) > 0; });
  });
  if (!found) return false;
  ValueId x = *found;
  Pool op;
  op.kind = isFloat(type(x).dtype) ? static_cast<PoolKind>(rng_.below(3))
                                   : rng_.pick<PoolKind>({PoolKind::max, PoolKind::argmax});
  for (size_t i = 0; i < k; ++i) {
    const int64_t n = least(type(x).shape[type(x).rank() - k + i]);
    int64_t window = rng_.between(1, std::min<int64_t>(3, n)), low = 0, high = 0, dilation = 1, extra = 0;
    if (op.kind != PoolKind::avg && window > 1 && n > 2 * (window - 1) && rng_.chance(0.3))
      dilation = 2;
    else
      low = rng_.between(0, window - 1), high = rng_.between(0, window - 1), extra = rng_.between(0, high);
    op.window.push_back(window);
    op.stride.push_back(rng_.between(1, 3));
    op.low.push_back(low);
    op.high.push_back(high);
    op.dilation.push_back(dilation);
    op.extraHigh.push_back(op.kind == PoolKind::avg ? extra : 0);
  }
  if (op.kind != PoolKind::avg || rng_.chance(0.3)) op.extraHigh.clear();
  if (op.kind == PoolKind::avg) op.countPad = rng_.chance(0.5), op.divisor = rng_.chance(0.2) ? 3 : 0;
  add(std::move(op), {x}, bound(x) * 3 + 300);
  return true;
}

bool Generator::adaptivePool() {
  const auto k = rng_.between(1, 2);
  const auto x = anyWhere([&](const TensorType& t) {
    return static_cast<int64_t>(t.rank()) >= k && isFloat(t.dtype) &&
           std::all_of(t.shape.end() - k, t.shape.end(), [&](const Dim& d) { return least(d) > 0; });
  });
  if (!x) return false;
  TensorType t = type(*x);
  for (int64_t i = 0; i < k; ++i) t.shape[t.rank() - 1 - static_cast<size_t>(i)] = Dim(rng_.between(1, 6));
  const auto kind = static_cast<PoolKind>(rng_.below(3));
  if (kind == PoolKind::argmax) t.dtype = DType::i64;
  if (!fits(t.shape)) return false;
  add(AdaptivePool{kind, k}, {*x}, bound(*x) + 300, &t);
  return true;
}

bool Generator::resize() {
  const auto k = rng_.between(1, 2);
  const auto x = anyWhere([&](const TensorType& t) {
    return static_cast<int64_t>(t.rank()) >= k &&
           std::all_of(t.shape.end() - k, t.shape.end(), [&](const Dim& d) { return least(d) > 0; });
  });
  if (!x) return false;
  TensorType t = type(*x);
  for (int64_t i = 0; i < k; ++i) t.shape[t.rank() - 1 - static_cast<size_t>(i)] = Dim(rng_.between(1, 11));
  if (!fits(t.shape)) return false;
  Resize op;
  op.spatial = k;
  if (isFloat(t.dtype) && rng_.chance(0.6)) op.kind = ResizeKind::linear, op.alignCorners = rng_.chance(0.4);
  if (!op.alignCorners && rng_.chance(0.2))
    op.scale = std::vector<double>(static_cast<size_t>(k), rng_.pick<double>({0.6, 1.7, 2}));
  add(std::move(op), {*x}, bound(*x), &t);
  return true;
}

bool Generator::matmul() {
  const auto found = anyWhere([](const TensorType& t) { return t.rank() > 1 && t.dtype != DType::boolean; });
  ValueId a = found ? *found : input({floatType(), someShape(2)});
  a = tame(a, 30);
  const TensorType t = type(a);
  MatMul op{rng_.chance(0.3), rng_.chance(0.3)};
  const Dim k = t.shape[op.transposeA ? t.rank() - 2 : t.rank() - 1],
            m = t.shape[op.transposeA ? t.rank() - 1 : t.rank() - 2];
  const Dim n = someExtent();
  Shape shape(t.shape.begin(), rng_.chance(0.5) ? t.shape.begin() : t.shape.end() - 2);
  Shape result(t.shape.begin(), t.shape.end() - 2);
  shape.push_back(op.transposeB ? n : k);
  shape.push_back(op.transposeB ? k : n);
  result.push_back(m);
  result.push_back(n);
  if (!fits(shape) || !fits(result) || !fits({elementCount(result) * Dim::floorDiv(k, 16)})) return false;
  std::vector<ValueId> operands = {a, tame(like({t.dtype, shape}), 30)};
  double limit = bound(a) * bound(operands[1]) * static_cast<double>(typical(k)) * 4;
  if (rng_.chance(0.4)) operands.push_back(tame(like({t.dtype, {n}}), 30)), limit += 30;
  add(op, operands, isFloat(t.dtype) ? limit : 0x1p63);
  return true;
}

bool Generator::conv() {
  const auto k = static_cast<size_t>(rng_.pick<int64_t>({1, 1, 2, 2, 3}));
  const DType dtype = floatType();
  Conv op;
  op.groups = rng_.pick<int64_t>({1, 1, 2});
  const int64_t inputs = op.groups * rng_.between(1, 2), outputs = op.groups * rng_.between(1, 3);
  Shape xs = {symbols_.empty() || rng_.chance(0.6) ? Dim(rng_.between(1, 2)) : Dim::symbol(symbols_[0]), Dim(inputs)};
  Shape ws = {Dim(outputs), Dim(inputs / op.groups)};
  for (size_t i = 0; i < k; ++i) {
    const int64_t window = rng_.between(1, 3), dilation = rng_.between(1, 2), reach = dilation * (window - 1);
    op.stride.push_back(rng_.between(1, 2));
    op.low.push_back(rng_.between(0, 2));
    op.high.push_back(rng_.between(0, 2));
    op.dilation.push_back(dilation);
    xs.push_back(Dim(rng_.between(1, 4) + reach));
    ws.push_back(Dim(window));
  }
  if (!fits(xs)) return false;
  std::vector<ValueId> operands = {tame(like({dtype, xs}), 30), tame(like({dtype, ws}), 30)};
  const double count = static_cast<double>(typical(elementCount(ws)));
  double limit = bound(operands[0]) * bound(operands[1]) * count;
  if (rng_.chance(0.5)) operands.push_back(tame(like({dtype, {Dim(outputs)}}), 30)), limit += 30;
  add(std::move(op), operands, limit);
  return true;
}

bool Generator::attention() {
  const auto found = anyWhere([&](const TensorType& t) {
    return t.rank() > 1 && t.rank() < 5 && isFloat(t.dtype) && least(t.shape.back()) > 0;
  });
  ValueId q = found ? *found : input({floatType(), {2, 3, 4}});
  q = tame(q, 4);
  const TensorType t = type(q);
  Shape ks = t.shape, vs = t.shape, scores = t.shape;
  const Dim s = rng_.chance(0.5) ? t.shape[t.rank() - 2] : Dim(rng_.between(1, 8)), f(rng_.between(1, 5));
  ks[t.rank() - 2] = vs[t.rank() - 2] = scores[t.rank() - 1] = s;
  vs[t.rank() - 1] = f;
  if (least(s) == 0 || !fits(ks) || !fits(vs) || !fits(scores)) return false;
  const ValueId k = tame(like({t.dtype, ks}), 4), v = tame(like({t.dtype, vs}), 100);
  Attention op;
  op.causal = rng_.chance(0.4);
  op.safe = rng_.chance(0.5);
  if (rng_.chance(0.3)) op.scale = 0.5;
  std::vector<ValueId> operands = {q, k, v};
  if (rng_.chance(0.5)) {
    Shape mask(rng_.chance(0.5) ? scores : Shape(scores.end() - 2, scores.end()));
    if (rng_.chance(0.3)) mask[mask.size() - 2] = Dim(1);
    const DType dtype = rng_.chance(0.5) ? DType::boolean : t.dtype;
    operands.push_back(tame(like({dtype, mask}), 10));
  }
  add(op, operands, bound(v));
  return true;
}

}  // namespace tokamak::fuzz
