#include <gtest/gtest.h>

#include <fmt/format.h>

#include "e2e/sweep.h"

namespace tokamak::sweep {
namespace {

/// Elementwise ops on one dtype.
class EveryElementwise : public testing::TestWithParam<size_t> {
 protected:
  DType dtype() const { return dtypeAt(GetParam()); }
};

bool isExact(UnaryKind kind) { return kind <= UnaryKind::sign || kind >= UnaryKind::floor || kind == UnaryKind::sqrt; }

bool isExact(BinaryKind kind) {
  return kind <= BinaryKind::div || kind == BinaryKind::fmod || kind == BinaryKind::max || kind == BinaryKind::min ||
         kind >= BinaryKind::eq;
}

/// Halves are computed in f32 and rounded once more.
Bound boundOf(bool exact, DType dtype, bool twice = true) {
  return !isFloat(dtype) || (exact && !(twice && isHalf(dtype))) ? Bound::exact : Bound::ulps;
}

void addElementwise(Cases& cases, DType dtype, const Extents& shape) {
  const ValueId x = cases.input(dtype, shape), y = cases.input(dtype, shape);
  const ValueId low = cases.input(dtype, shape), condition = cases.input(DType::boolean, shape);
  forEachKind<UnaryKind>([&](UnaryKind kind) {
    const bool signs = kind == UnaryKind::neg || kind == UnaryKind::abs;
    cases.add(signs ? Bound::bits : boundOf(isExact(kind), dtype), Unary{kind}, {x});
  });
  forEachKind<BinaryKind>([&](BinaryKind kind) { cases.add(boundOf(isExact(kind), dtype), Binary{kind}, {x, y}); });
  cases.add(Bound::bits, Select{}, {condition, x, y});
  cases.add(Bound::exact, Clamp{}, {x, low, y});
  for (size_t to = 0; to < kDTypes; ++to) {
    const TensorType result{dtypeAt(to), shapeOf(shape)};
    cases.add(Bound::bits, Cast{}, {x}, &result);
  }
}

TEST_P(EveryElementwise, EqualsTheReference) {
  for (const Extents& shape : usualShapes()) {
    Cases cases;
    addElementwise(cases, dtype(), shape);
    ASSERT_GT(cases.size(), 20u);
    cases.expectRight(shape == Extents{7, 33});
  }
}

TEST_P(EveryElementwise, EqualsTheReferenceUnfused) {
  Cases cases;
  const ValueId x = cases.input(dtype(), {3, 5}), y = cases.input(dtype(), {3, 5});
  for (BinaryKind kind : {BinaryKind::add, BinaryKind::max, BinaryKind::lt})
    cases.add(boundOf(true, dtype()), Binary{kind}, {x, y});
  cases.expectRight(false, {.fuse = false});
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryElementwise, testing::Range<size_t>(0, kDTypes),
                         [](const auto& info) { return std::string(nameOf(dtypeAt(info.param))); });

}  // namespace
}  // namespace tokamak::sweep
