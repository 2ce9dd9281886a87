#include <algorithm>
#include <cmath>

#include "fuzz/generator.h"

namespace tokamak::fuzz {

namespace {

bool hasAxes(const TensorType& t) { return t.rank() > 0; }

}  // namespace

bool Generator::reduce() {
  const auto found = anyWhere(hasAxes);
  if (!found) return false;
  ValueId x = *found;
  const Shape shape = type(x).shape;
  std::vector<Axis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    if (rng_.chance(0.5)) axes.push_back(static_cast<Axis>(i));
  if (axes.empty()) axes.push_back(rng_.below(static_cast<int64_t>(shape.size())));
  int64_t fewest = 1, usual = 1;
  for (Axis axis : axes) {
    fewest *= least(shape[static_cast<size_t>(axis)]);
    usual *= typical(shape[static_cast<size_t>(axis)]);
  }
  std::vector<ReduceKind> kinds = {ReduceKind::sum, ReduceKind::any, ReduceKind::all};
  const bool isFloating = isFloat(type(x).dtype);
  if (!isFloating || usual <= 16) kinds.push_back(ReduceKind::prod);
  if (isFloating) kinds.insert(kinds.end(), {ReduceKind::sum, ReduceKind::mean, ReduceKind::var});
  if (fewest > 0)
    for (auto kind : {ReduceKind::max, ReduceKind::min, ReduceKind::argmax, ReduceKind::argmin}) kinds.push_back(kind);
  const ReduceKind kind = rng_.pick(kinds);
  if (kind == ReduceKind::prod) x = tame(x, 1.25);
  if (kind == ReduceKind::sum || kind == ReduceKind::var) x = tame(x, 1e3);
  double limit = bound(x);
  if (kind == ReduceKind::sum) limit *= static_cast<double>(usual) * 4;
  if (kind == ReduceKind::prod) limit = isFloating ? std::pow(1.25, 64) : 0x1p63;
  if (kind == ReduceKind::var) limit = 8 * bound(x) * bound(x);
  if (kind == ReduceKind::argmax || kind == ReduceKind::argmin) limit = static_cast<double>(usual) * 4;
  const int64_t correction = kind == ReduceKind::var && fewest > 1 ? rng_.below(2) : 0;
  add(Reduce{kind, axes, correction}, {x}, limit);
  return true;
}

bool Generator::scan() {
  const auto found = anyWhere(hasAxes);
  if (!found) return false;
  ValueId x = *found;
  const Axis axis = rng_.below(static_cast<int64_t>(type(x).rank()));
  const auto kind = static_cast<ScanKind>(rng_.below(6));
  double limit = bound(x);
  const auto count = static_cast<double>(typical(type(x).shape[static_cast<size_t>(axis)]));
  if (kind == ScanKind::prod) x = tame(x, 1.25), limit = isFloat(type(x).dtype) ? std::pow(1.25, 64) : 0x1p63;
  if (kind == ScanKind::sum) x = tame(x, 1e3), limit = bound(x) * count * 4;
  if (kind == ScanKind::argmax || kind == ScanKind::argmin) limit = count * 4;
  add(Scan{kind, axis, rng_.chance(0.3)}, {x}, limit);
  return true;
}

bool Generator::broadcast() {
  const ValueId x = any();
  const TensorType from = type(x);
  if (from.rank() > 4) return false;
  TensorType to{from.dtype, {}};
  std::vector<Axis> axes;
  for (size_t i = 0; i <= from.rank(); ++i) {
    if (rng_.chance(0.35) && to.rank() < 5) to.shape.push_back(someExtent());
    if (i == from.rank()) break;
    axes.push_back(static_cast<Axis>(to.rank()));
    to.shape.push_back(from.shape[i].is(1) && rng_.chance(0.5) ? someExtent() : from.shape[i]);
  }
  if (!fits(to.shape)) return false;
  add(Broadcast{axes}, {x}, bound(x), &to);
  return true;
}

bool Generator::reshape() {
  const ValueId x = any();
  TensorType t = type(x);
  const auto rank = static_cast<int64_t>(t.rank());
  const int64_t way = rng_.below(4);
  if (way == 0) {
    t.shape = {elementCount(t.shape)};
  } else if (way == 1 && rank > 1) {
    const auto i = static_cast<size_t>(rng_.below(rank - 1));
    t.shape[i] = t.shape[i] * t.shape[i + 1];
    t.shape.erase(t.shape.begin() + static_cast<int64_t>(i) + 1);
  } else if (way == 2 && rank > 0) {
    const auto i = static_cast<size_t>(rng_.below(rank));
    for (int64_t factor : {2, 3, 4, 7})
      if (Dim::mod(t.shape[i], factor).is(0) && !t.shape[i].is(0)) {
        t.shape[i] = Dim::floorDiv(t.shape[i], factor);
        t.shape.insert(t.shape.begin() + static_cast<int64_t>(i) + rng_.below(2), Dim(factor));
        break;
      }
  } else if (rank < 5) {
    t.shape.insert(t.shape.begin() + rng_.below(rank + 1), Dim(1));
  }
  add(Reshape{}, {x}, bound(x), &t);
  return true;
}

bool Generator::transpose() {
  const auto x = anyWhere([](const TensorType& t) { return t.rank() > 1; });
  if (!x) return false;
  std::vector<Axis> perm;
  for (size_t i = 0; i < type(*x).rank(); ++i)
    perm.insert(perm.begin() + rng_.below(static_cast<int64_t>(i) + 1), static_cast<Axis>(i));
  add(Transpose{perm}, {*x}, bound(*x));
  return true;
}

bool Generator::slice() {
  const auto x = anyWhere(hasAxes);
  if (!x) return false;
  TensorType t = type(*x);
  Slice op;
  for (Dim& extent : t.shape) {
    int64_t stride = 1;
    Dim start = 0;
    if (auto n = extent.constant(); n && *n > 0 && rng_.chance(0.6)) {
      stride = rng_.pick<int64_t>({1, 1, 2, 3});
      const int64_t first = rng_.below(*n), most = (*n - 1 - first) / stride + 1;
      start = Dim(first);
      extent = Dim(options_.empty && rng_.chance(0.02) ? 0 : rng_.between(std::max<int64_t>(1, most / 2), most));
    } else if (!extent.isConst() && least(extent) > 0 && rng_.chance(0.5)) {
      const bool one = rng_.chance(0.3);  // the last element, or all but the first or last
      start = one ? extent - Dim(1) : Dim(rng_.below(2));
      extent = one ? Dim(1) : extent - Dim(1);
    }
    op.start.push_back(start);
    op.stride.push_back(stride);
  }
  add(std::move(op), {*x}, bound(*x), &t);
  return true;
}

bool Generator::pad() {
  const auto x = anyWhere(hasAxes);
  if (!x) return false;
  const TensorType t = type(*x);
  Pad op;
  Shape padded = t.shape;
  for (Dim& extent : padded) {
    int64_t low = rng_.chance(0.5) ? rng_.between(0, 2) : 0, high = rng_.chance(0.5) ? rng_.between(0, 3) : 0;
    if (least(extent) > 2 && rng_.chance(0.2)) low = -1;
    if (least(extent) > 3 && rng_.chance(0.2)) high = -2;
    op.low.push_back(Dim(low));
    op.high.push_back(Dim(high));
    extent = extent + Dim(low + high);
  }
  if (!fits(padded)) return false;
  op.value = isFloat(t.dtype) ? Scalar::of(static_cast<double>(rng_.between(-2, 2)) / 2) : Scalar::of(rng_.below(2));
  add(std::move(op), {*x}, bound(*x) + 1);
  return true;
}

bool Generator::concat() {
  const auto x = anyWhere(hasAxes);
  if (!x) return false;
  const TensorType t = type(*x);
  const Axis axis = rng_.below(static_cast<int64_t>(t.rank()));
  std::vector<ValueId> parts = {*x};
  double limit = bound(*x);
  for (int64_t more = rng_.between(0, 2); more > 0; --more) {
    TensorType part = t;
    if (rng_.chance(0.5)) part.shape[static_cast<size_t>(axis)] = someExtent();
    if (!fits(part.shape)) continue;
    parts.push_back(like(part));
    limit = std::max(limit, bound(parts.back()));
  }
  Shape joined = t.shape;
  Dim total = 0;
  for (ValueId part : parts) total = total + type(part).shape[static_cast<size_t>(axis)];
  joined[static_cast<size_t>(axis)] = total;
  if (!fits(joined)) return false;
  std::rotate(parts.begin(), parts.begin() + rng_.below(static_cast<int64_t>(parts.size())), parts.end());
  add(Concat{axis}, parts, limit);
  return true;
}

bool Generator::flip() {
  const auto x = anyWhere(hasAxes);
  if (!x) return false;
  std::vector<Axis> axes;
  for (size_t i = 0; i < type(*x).rank(); ++i)
    if (rng_.chance(0.5)) axes.push_back(static_cast<Axis>(i));
  if (axes.empty()) axes.push_back(0);
  add(Flip{axes}, {*x}, bound(*x));
  return true;
}

}  // namespace tokamak::fuzz
