#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/builder.h"

namespace tokamak {

ValueId Builder::atLeastRank1(ValueId x) { return type(x).rank() > 0 ? x : reshape(x, {1}); }

ValueId Builder::reduce(ReduceKind kind, ValueId x, std::vector<Axis> axes, bool keepdim, int64_t correction) {
  if (!usable({x})) return {};
  const size_t rank = type(x).rank();
  if (axes.empty()) {
    axes.resize(std::max<size_t>(1, rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const auto front = frontAxes(std::move(axes), rank);
  if (!front) return {};
  const ValueId folded = apply(Reduce{kind, *front, correction}, {atLeastRank1(x)});
  if (!keepdim || error_ || rank == 0) return folded;
  Shape kept = type(x).shape;
  for (Axis axis : *front) kept[static_cast<size_t>(axis)] = 1;
  return reshape(folded, std::move(kept));
}

ValueId Builder::scan(ScanKind kind, ValueId x, Axis axis, bool reverse) {
  if (!usable({x})) return {};
  const auto front = frontAxis(axis, type(x).rank());
  if (!front) return {};
  const ValueId result = apply(Scan{kind, *front, reverse}, {atLeastRank1(x)});
  return type(x).rank() > 0 ? result : reshape(result, {});
}

ValueId Builder::broadcastTo(ValueId x, Shape shape) {
  if (!usable({x})) return {};
  const size_t rank = type(x).rank();
  if (type(x).shape == shape) return x;
  if (rank > shape.size())
    return fail("T0203", fmt::format("{} : {} has more axes than {}", graph_.label(x), type(x).str(), str(shape)),
                "insert a reshape");
  std::vector<Axis> axes(rank);
  std::iota(axes.begin(), axes.end(), static_cast<Axis>(shape.size() - rank));
  return broadcast(x, std::move(axes), std::move(shape));
}

ValueId Builder::broadcast(ValueId x, std::vector<Axis> axes, Shape shape) {
  if (!usable({x})) return {};
  const TensorType declared{type(x).dtype, std::move(shape)};
  return apply(Broadcast{std::move(axes)}, {x}, &declared);
}

ValueId Builder::reshape(ValueId x, Shape shape) {
  if (!usable({x})) return {};
  const auto open = std::find(shape.begin(), shape.end(), Dim(-1));
  if (open != shape.end()) {
    *open = 1;
    const Dim others = elementCount(shape);
    if (others.is(0)) return fail("T0208", "the extent -1 is undetermined: the others are empty", "write the extent");
    *open = Dim::floorDiv(type(x).elements(), others);
  }
  if (type(x).shape == shape) return x;
  const TensorType declared{type(x).dtype, std::move(shape)};
  return apply(Reshape{}, {x}, &declared);
}

ValueId Builder::transpose(ValueId x, std::vector<Axis> perm) {
  if (!usable({x})) return {};
  for (Axis& axis : perm) {
    const auto front = frontAxis(axis, type(x).rank());
    if (!front) return {};
    axis = *front;
  }
  return apply(Transpose{std::move(perm)}, {x});
}

ValueId Builder::slice(ValueId x, std::vector<Dim> start, Shape extent, std::vector<int64_t> stride) {
  if (!usable({x})) return {};
  if (stride.empty()) stride.assign(type(x).rank(), 1);
  const TensorType declared{type(x).dtype, std::move(extent)};
  return apply(Slice{std::move(start), std::move(stride)}, {x}, &declared);
}

ValueId Builder::pad(ValueId x, std::vector<Dim> low, std::vector<Dim> high, Scalar value) {
  if (!usable({x})) return {};
  if (isFloat(type(x).dtype)) value = Scalar::of(value.asDouble());
  return apply(Pad{std::move(low), std::move(high), value}, {x});
}

ValueId Builder::concat(std::vector<ValueId> xs, Axis axis) {
  if (!usable(xs)) return {};
  if (xs.empty()) return fail("T0201", "concat: it has no operands", "give one or more");
  DType dtype = type(xs[0]).dtype;
  for (ValueId x : xs) dtype = promote(dtype, type(x).dtype);
  for (ValueId& x : xs) x = cast(x, dtype);
  const auto front = frontAxis(axis, type(xs[0]).rank());
  return front ? apply(Concat{*front}, std::move(xs)) : ValueId{};
}

ValueId Builder::flip(ValueId x, std::vector<Axis> axes) {
  if (!usable({x})) return {};
  auto front = frontAxes(std::move(axes), type(x).rank());
  return front ? apply(Flip{std::move(*front)}, {x}) : ValueId{};
}

ValueId Builder::gather(ValueId x, ValueId index, Axis axis) {
  if (!usable({x, index})) return {};
  const auto front = frontAxis(axis, type(x).rank());
  return front ? apply(Gather{*front}, {x, index}) : ValueId{};
}

ValueId Builder::indexSelect(ValueId x, ValueId index, Axis axis) {
  if (!usable({x, index})) return {};
  const auto front = frontAxis(axis, type(x).rank());
  return front ? apply(IndexSelect{*front}, {x, index}) : ValueId{};
}

ValueId Builder::scatter(ScatterKind kind, ValueId x, ValueId index, ValueId source, Axis axis) {
  if (!usable({x, index, source})) return {};
  const auto front = frontAxis(axis, type(x).rank());
  return front ? apply(Scatter{*front, kind}, {x, index, source}) : ValueId{};
}

}  // namespace tokamak
