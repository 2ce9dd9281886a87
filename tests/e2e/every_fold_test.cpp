#include <gtest/gtest.h>

#include <algorithm>

#include "e2e/sweep.h"

namespace tokamak::sweep {
namespace {

/// Folds, scans, shape ops and indexing on one dtype.
class EveryFold : public testing::TestWithParam<size_t> {
 protected:
  DType dtype() const { return dtypeAt(GetParam()); }
};

bool isExact(ReduceKind kind) {
  return kind >= ReduceKind::any ? kind != ReduceKind::var : kind == ReduceKind::max || kind == ReduceKind::min;
}

/// Every set of axes of a rank.
std::vector<std::vector<Axis>> axisSets(size_t rank) {
  std::vector<std::vector<Axis>> sets;
  for (size_t mask = 1; mask < size_t{1} << rank; ++mask) {
    sets.emplace_back();
    for (size_t axis = 0; axis < rank; ++axis)
      if (mask >> axis & 1) sets.back().push_back(static_cast<Axis>(axis));
  }
  return sets;
}

bool wantsElements(ReduceKind kind) {
  return kind == ReduceKind::max || kind == ReduceKind::min || kind == ReduceKind::argmax || kind == ReduceKind::argmin;
}

bool foldsNothing(const TensorType& type, const std::vector<Axis>& axes) {
  return std::ranges::any_of(axes, [&](Axis axis) { return type.shape[axis].is(0); });
}

void addReduces(Cases& cases, ValueId x) {
  const TensorType type = cases.type(x);
  for (const auto& axes : axisSets(type.rank()))
    forEachKind<ReduceKind>([&](ReduceKind kind) {
      const Bound bound = isExact(kind) || !isFloat(type.dtype) ? Bound::exact : Bound::loose;
      if (wantsElements(kind) && foldsNothing(type, axes)) {
        EXPECT_FALSE(inferType(Reduce{kind, axes}, {type})) << nameOf(kind);
        if (kind == ReduceKind::max || kind == ReduceKind::min) cases.add(bound, Reduce{kind, axes, 0, true}, {x});
        return;
      }
      cases.add(bound, Reduce{kind, axes, 0}, {x});
      if (kind == ReduceKind::var) cases.add(bound, Reduce{kind, axes, 1}, {x});
    });
}

void addScans(Cases& cases, ValueId x) {
  const TensorType type = cases.type(x);
  for (size_t axis = 0; axis < type.rank(); ++axis)
    for (bool reverse : {false, true})
      forEachKind<ScanKind>([&](ScanKind kind) {
        const bool exact = kind >= ScanKind::max || !isFloat(type.dtype);
        cases.add(exact ? Bound::exact : Bound::loose, Scan{kind, static_cast<Axis>(axis), reverse}, {x});
      });
}

TEST_P(EveryFold, Reduces) {
  for (const Extents& shape : usualShapes()) {
    if (shape.empty()) continue;
    Cases cases;
    addReduces(cases, cases.input(dtype(), shape, isFloat(dtype()) ? Fill::mild : Fill::special));
    if (shape == Extents{7, 33}) addReduces(cases, cases.input(dtype(), shape, Fill::tame));
    cases.expectRight(shape == Extents{7, 33});
  }
  Cases cases;
  addReduces(cases, cases.input(dtype(), {3, 2, 37}, Fill::tame));
  cases.expectRight();
}

TEST_P(EveryFold, Scans) {
  for (const Extents& shape : usualShapes())
    for (Fill fill : {isFloat(dtype()) ? Fill::mild : Fill::special, Fill::tame}) {
      if (fill == Fill::tame && shape != Extents{5, 131}) continue;
      Cases cases;
      addScans(cases, cases.input(dtype(), shape, fill));
      cases.expectRight(shape == Extents{1, 5, 1});
    }
}

/// The fold of one axis sees values of other ops, and its result is read by others along the axis it lost.
TEST_P(EveryFold, AmongNeighbours) {
  Cases cases;
  const ValueId x = cases.input(dtype(), {7, 33}, Fill::tame), y = cases.input(dtype(), {7, 33}, Fill::tame);
  const ValueId both = cases.builder.binary(BinaryKind::max, x, y);
  for (const auto& axes : axisSets(2))
    forEachKind<ReduceKind>([&](ReduceKind kind) {
      if (!inferType(Reduce{kind, axes, 0}, {cases.type(both)})) return;
      const ValueId folded = cases.builder.reduce(kind, both, axes, true);
      const ValueId cast = cases.builder.cast(folded, dtype());
      cases.add(isFloat(dtype()) ? Bound::loose : Bound::exact, cases.builder.binary(BinaryKind::add, x, cast));
    });
  cases.expectRight(true);
}

/// Columns whose rows lie far apart are put aside by the first of several sweeps, but for those read at other places
/// too.
TEST_P(EveryFold, SweepsOverFarRows) {
  if (!isFloat(dtype())) return;
  for (const Extents& shape : {Extents{37, 272}, Extents{3, 5, 260}}) {
    Cases cases;
    Builder& b = cases.builder;
    const ValueId x = cases.input(dtype(), shape, Fill::tame), residual = cases.input(dtype(), shape, Fill::tame);
    const std::vector<Axis> rows = shape.size() == 2 ? std::vector<Axis>{0} : std::vector<Axis>{0, 1};
    const ValueId centred = b.sub(x, b.reduce(ReduceKind::mean, x, rows, true));
    const ValueId variance = b.reduce(ReduceKind::mean, b.mul(centred, centred), rows, true);
    const ValueId scale = b.unary(UnaryKind::rsqrt, b.binary(BinaryKind::add, variance, Scalar::of(0.01)));
    cases.add(Bound::loose, b.add(b.unary(UnaryKind::erf, b.mul(centred, scale)), residual));
    cases.add(Bound::loose, b.mul(b.sub(b.flip(x, {0}), residual), b.reduce(ReduceKind::max, x, rows, true)));
    cases.expectRight(true);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryFold, testing::Range<size_t>(0, kDTypes),
                         [](const auto& info) { return std::string(nameOf(dtypeAt(info.param))); });

}  // namespace
}  // namespace tokamak::sweep
