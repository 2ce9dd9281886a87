#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "e2e/sweep.h"

namespace tokamak::sweep {
namespace {

/// Sources, shape ops and indexing on one dtype: none of them computes, so bits are equal.
class EveryShapeOp : public testing::TestWithParam<size_t> {
 protected:
  DType dtype() const { return dtypeAt(GetParam()); }
};

void addSources(Cases& cases, DType dtype, const Extents& shape) {
  const TensorType type{dtype, shapeOf(shape)};
  for (Scalar value : {Scalar::of(int64_t{0}), Scalar::of(int64_t{1}), Scalar::of(int64_t{-3}), Scalar::of(-0.0),
                       Scalar::of(1.5), Scalar::of(std::nan("")), Scalar::of(-double{INFINITY}), Scalar::of(0x1p-24)})
    cases.add(Bound::bits, Full{value}, {}, &type);
  for (size_t axis = 0; axis < shape.size(); ++axis) cases.add(Bound::bits, Iota{static_cast<Axis>(axis)}, {}, &type);
  Array data(dtype, shape);
  for (int64_t i = 0; i < data.size(); ++i) isFloat(dtype) ? data.setDouble(i, i - 2.5) : data.setInt(i, i % 2);
  cases.add(Bound::bits, cases.builder.constant(data));
  const ValueId seed = cases.positions(DType::i64, {}, 1, 1ll << 40),
                offset = cases.positions(DType::i64, {}, 0, 1ll << 40);
  forEachKind<RandomKind>([&](RandomKind kind) {
    cases.add(kind == RandomKind::normal ? Bound::loose : Bound::exact, Random{kind}, {seed, offset}, &type);
  });
}

void addViews(Cases& cases, ValueId x, ValueId y) {
  Builder& b = cases.builder;
  const TensorType type = cases.type(x);
  const size_t rank = type.rank();
  cases.add(Bound::bits, b.reshape(x, {type.elements()}));
  Shape wider = type.shape;
  wider.insert(wider.begin(), {2, 1});
  cases.add(Bound::bits, b.broadcastTo(x, wider));
  std::vector<Axis> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  do cases.add(Bound::bits, Transpose{perm}, {x});
  while (std::next_permutation(perm.begin(), perm.end()));
  Shape behind{2};
  std::vector<Axis> axes(rank);
  std::iota(axes.begin(), axes.end(), 1);
  behind.insert(behind.end(), type.shape.begin(), type.shape.end());
  behind.push_back(3);
  cases.add(Bound::bits, b.broadcast(x, axes, behind));
  for (size_t axis = 0; axis < rank; ++axis) {
    cases.add(Bound::bits, Flip{{static_cast<Axis>(axis)}}, {x});
    cases.add(Bound::bits, Concat{static_cast<Axis>(axis)}, {x, y, x});
    const int64_t n = *type.shape[axis].eval({});
    std::vector<Dim> start(rank, 0), low(rank, 0), high(rank, 0);
    std::vector<int64_t> stride(rank, 1);
    Shape extent = type.shape;
    start[axis] = n / 3;
    stride[axis] = 2;
    extent[axis] = (n - n / 3 + 1) / 2;
    cases.add(Bound::bits, b.slice(x, start, extent, stride));
    low[axis] = 2, high[axis] = 1;
    cases.add(Bound::bits, b.pad(x, low, high, Scalar::of(int64_t{1})));
    if (n < 2) continue;
    low[axis] = -1, high[axis] = 3;
    cases.add(Bound::bits, b.pad(x, low, high, Scalar::of(int64_t{0})));
  }
}

TEST_P(EveryShapeOp, Sources) {
  for (const Extents& shape : usualShapes()) {
    Cases cases;
    addSources(cases, dtype(), shape);
    cases.expectRight(shape.size() < 2);
  }
}

TEST_P(EveryShapeOp, Views) {
  for (const Extents& shape : usualShapes()) {
    Cases cases;
    const ValueId x = cases.input(dtype(), shape), y = cases.input(dtype(), shape);
    addViews(cases, x, y);
    cases.expectRight(shape == Extents{7, 33});
  }
  Cases cases;
  const ValueId x = cases.input(dtype(), {3, 5, 17}), y = cases.input(dtype(), {3, 5, 17});
  // Of two zeros the larger one may have either sign.
  addViews(cases, cases.builder.binary(isFloat(dtype()) ? BinaryKind::mul : BinaryKind::max, x, y), y);
  cases.expectRight();
}

TEST_P(EveryShapeOp, Indexing) {
  for (DType index : {DType::i32, DType::i64})
    for (const Extents& shape : {index == DType::i32 ? Extents{3, 1, 5} : Extents{7, 33}}) {
      Cases cases;
      const ValueId x = cases.input(dtype(), shape), y = cases.input(dtype(), shape, Fill::tame);
      for (size_t a = 0; a < shape.size(); ++a) {
        const Axis axis = static_cast<Axis>(a);
        const int64_t n = shape[a];
        Extents fewer = shape;
        fewer[a] = 2 * n + 1;
        cases.add(Bound::bits, Gather{axis}, {x, cases.positions(index, fewer, -n, n)});
        for (const Extents& picked : {Extents{}, Extents{0}, Extents{4, 3}})
          cases.add(Bound::bits, IndexSelect{axis}, {x, cases.positions(index, picked, -n, n)});
        const ValueId source = cases.input(dtype(), fewer, Fill::tame);
        const ValueId at = cases.positions(index, fewer, -n, n), outside = cases.positions(index, fewer, -n - 2, n + 2);
        forEachKind<ScatterKind>([&](ScatterKind kind) {
          // Halves are rounded at every meeting, as in torch: how often an element is met decides how far it strays.
          const bool sums = kind == ScatterKind::add || kind == ScatterKind::mul;
          const Bound bound = sums && isHalf(dtype())    ? Bound::scaled
                              : sums && isFloat(dtype()) ? Bound::loose
                                                         : Bound::exact;
          cases.add(bound, Scatter{axis, kind}, {y, at, source});
          if (bound == Bound::exact)
            cases.add(bound, Scatter{axis, kind}, {x, outside, source});
          else
            cases.add(bound, Scatter{axis, kind}, {y, outside, source});
        });
      }
      cases.expectRight(shape == Extents{3, 1, 5});
    }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryShapeOp, testing::Range<size_t>(0, kDTypes),
                         [](const auto& info) { return std::string(nameOf(dtypeAt(info.param))); });

}  // namespace
}  // namespace tokamak::sweep
