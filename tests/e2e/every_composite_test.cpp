#include <gtest/gtest.h>

#include "e2e/sweep.h"

namespace tokamak::sweep {
namespace {

/// Windows, products and composites on one dtype.
class EveryComposite : public testing::TestWithParam<size_t> {
 protected:
  DType dtype() const { return dtypeAt(GetParam()); }
};

void addPools(Cases& cases, ValueId x) {
  const std::vector<Pool> shapes = {
      {.window = {2, 3}, .stride = {1, 2}, .low = {1, 0}, .high = {1, 1}, .dilation = {1, 1}},
      {.window = {2, 2}, .stride = {2, 3}, .low = {0, 1}, .high = {0, 0}, .dilation = {2, 1}, .countPad = false},
      {.window = {3}, .stride = {1}, .low = {1}, .high = {1}, .dilation = {2}, .divisor = 5},
      {.window = {3, 2}, .stride = {1, 1}, .low = {3, 1}, .high = {4, 2}, .dilation = {2, 3}, .countPad = false},
      {.window = {3}, .stride = {2}, .low = {1}, .high = {3}, .dilation = {2}, .extraHigh = {2}},
      {.window = {1}, .stride = {1}, .low = {0}, .high = {0}, .dilation = {1}}};
  const DType dtype = cases.type(x).dtype;
  for (Pool pool : shapes)
    forEachKind<PoolKind>([&](PoolKind kind) {
      pool.kind = kind;
      cases.add(kind == PoolKind::avg && isFloat(dtype) ? Bound::loose : Bound::exact, pool, {x});
    });
  const TensorType type = cases.type(x);
  for (auto [h, w] : {std::pair{3, 4}, {1, 1}, {10, 20}}) {
    TensorType result = type;
    result.shape[2] = h, result.shape[3] = w;
    forEachKind<PoolKind>([&](PoolKind kind) {
      TensorType pooled = result;
      if (kind == PoolKind::argmax) pooled.dtype = DType::i64;
      cases.add(kind == PoolKind::avg && isFloat(dtype) ? Bound::loose : Bound::exact, AdaptivePool{kind, 2}, {x},
                &pooled);
    });
    cases.add(Bound::bits, Resize{ResizeKind::nearest, 2, false, {}}, {x}, &result);
    cases.add(Bound::bits, Resize{ResizeKind::nearest, 2, false, {1.7, 0}}, {x}, &result);
    for (bool corners : {false, true})
      cases.add(Bound::loose, Resize{ResizeKind::linear, 2, corners, {}}, {x}, &result);
  }
}

TEST_P(EveryComposite, Windows) {
  for (const Extents& shape : {Extents{2, 3, 7, 9}, Extents{1, 1, 3, 5}, Extents{0, 3, 7, 9}, Extents{1, 2, 6, 19}})
    for (Fill fill : {Fill::mild, Fill::tame}) {
      if (fill == Fill::tame && shape[0] != 2) continue;
      Cases cases;
      addPools(cases, cases.input(dtype(), shape, fill));
      cases.expectRight(fill == Fill::tame && shape[0] == 2);
    }
}

TEST_P(EveryComposite, Products) {
  struct Sizes {
    int64_t batch, m, k, n;
  };
  for (bool library : {true, false})
    for (auto [batch, m, k, n] : {Sizes{2, 5, 17, 33},
                                  {1, 1, 1, 1},
                                  {0, 3, 4, 5},
                                  {2, 3, 0, 5},
                                  {3, 1, 40, 7},
                                  {1, 0, 3, 2},
                                  {2, 4, 150, 6},
                                  {1, 3, 70, 8}}) {
      Cases cases;
      const Bound bound = isFloat(dtype()) ? Bound::loose : Bound::exact;
      const ValueId bias = cases.input(dtype(), {n}, Fill::tame);
      for (bool ta : {false, true})
        for (bool tb : {false, true}) {
          const ValueId a = cases.input(dtype(), ta ? Extents{batch, k, m} : Extents{batch, m, k}, Fill::tame);
          const ValueId b = cases.input(dtype(), tb ? Extents{batch, n, k} : Extents{batch, k, n}, Fill::tame);
          const ValueId shared = cases.input(dtype(), tb ? Extents{n, k} : Extents{k, n}, Fill::tame);
          cases.add(bound, MatMul{ta, tb}, {a, b});
          cases.add(bound, MatMul{ta, tb}, {a, shared});
          cases.add(bound, MatMul{ta, tb}, {a, shared, bias});
        }
      cases.expectRight(m == 5, {.library = library});
    }
}

TEST_P(EveryComposite, Convolutions) {
  for (bool library : {true, false}) {
    Cases cases;
    for (size_t spatial = 1; spatial <= 3; ++spatial)
      for (int64_t groups : {1, 2}) {
        Extents image = {2, 4}, weight = {6, 4 / groups};
        image.resize(2 + spatial, 7);
        weight.resize(2 + spatial, 3);
        const ValueId x = cases.input(dtype(), image, Fill::tame), w = cases.input(dtype(), weight, Fill::tame);
        const ValueId bias = cases.input(dtype(), {6}, Fill::tame);
        const std::vector<int64_t> one(spatial, 1), two(spatial, 2), none(spatial, 0);
        cases.add(Bound::loose, Conv{one, none, none, one, groups}, {x, w});
        cases.add(Bound::loose, Conv{two, one, two, one, groups}, {x, w, bias});
        cases.add(Bound::loose, Conv{one, two, one, two, groups}, {x, w, bias});
        Extents last = image;
        std::rotate(last.begin() + 1, last.begin() + 2, last.end());
        const ValueId turned = cases.input(dtype(), last, Fill::tame);
        cases.add(Bound::loose, Conv{one, none, none, one, groups, true}, {turned, w});
        cases.add(Bound::loose, Conv{two, one, two, one, groups, true}, {turned, w, bias});
      }
    cases.expectRight(false, {.library = library});
  }
}

TEST_P(EveryComposite, Attention) {
  for (const Extents& lead : {Extents{}, Extents{2, 3}}) {
    Cases cases;
    const auto with = [&](int64_t a, int64_t b) {
      Extents e = lead;
      e.insert(e.end(), {a, b});
      return e;
    };
    const ValueId q = cases.input(dtype(), with(5, 8), Fill::tame), k = cases.input(dtype(), with(7, 8), Fill::tame);
    const ValueId v = cases.input(dtype(), with(7, 11), Fill::tame);
    const ValueId mask = cases.input(DType::boolean, {5, 7}, Fill::tame),
                  added = cases.input(dtype(), {5, 7}, Fill::tame);
    Array dark(DType::boolean, {5, 7});
    for (int64_t i = 7; i < dark.size(); ++i) dark.setInt(i, 1);  // the first query sees nothing
    const ValueId hidden = cases.input(dark);
    const Bound bound = isHalf(dtype()) ? Bound::scaled : Bound::loose;
    for (bool causal : {false, true}) {
      cases.add(bound, Attention{.causal = causal}, {q, k, v});
      cases.add(bound, Attention{.scale = 0.3, .causal = causal}, {q, k, v, added});
      for (bool safe : {false, true})
        for (ValueId m : {mask, hidden}) cases.add(bound, Attention{.causal = causal, .safe = safe}, {q, k, v, m});
    }
    cases.expectRight(lead.empty());
  }
}

TEST_P(EveryComposite, SoftmaxAndActivations) {
  for (const Extents& shape : usualShapes())
    for (Fill fill : {Fill::mild, Fill::tame}) {
      Cases cases;
      const ValueId x = cases.input(dtype(), shape, fill);
      for (size_t axis = 0; axis < shape.size(); ++axis)
        for (bool log : {false, true}) cases.add(Bound::loose, Softmax{static_cast<Axis>(axis), log}, {x});
      forEachKind<ActivationKind>([&](ActivationKind kind) {
        cases.add(Bound::loose, Activation{kind, 1.0, 20.0}, {x});
        cases.add(Bound::loose, Activation{kind, 0.25, 0.5}, {x});
      });
      const ValueId seed = cases.positions(DType::i64, {}, 0, 99), offset = cases.positions(DType::i64, {}, 0, 99);
      for (double p : {0.0, 0.3, 0.99}) cases.add(Bound::loose, Dropout{p}, {x, seed, offset});
      cases.expectRight(shape == Extents{7, 33});
    }
}

TEST_P(EveryComposite, Norms) {
  for (const Extents& shape : {Extents{2, 4, 5, 33}, Extents{1, 4, 1, 1}, Extents{0, 4, 3, 2}, Extents{3, 4, 131}})
    for (Fill fill : {Fill::mild, Fill::tame}) {
      Cases cases;
      const ValueId x = cases.input(dtype(), shape, fill);
      const auto parameter = [&](const Extents& e) { return cases.input(dtype(), e, Fill::tame); };
      const ValueId weight = parameter({4}), bias = parameter({4}), mean = parameter({4});
      const ValueId variance = cases.builder.unary(UnaryKind::abs, parameter({4}));
      for (int64_t axes : {1, 2}) {
        const Extents last(shape.end() - axes, shape.end());
        const ValueId w = parameter(last), b = parameter(last);
        for (NormKind kind : {NormKind::layer, NormKind::rms})
          cases.add(Bound::loose, Norm{.kind = kind, .axes = axes}, {x});
        cases.add(Bound::loose, Norm{.kind = NormKind::layer, .axes = axes, .affine = true}, {x, w, b});
        cases.add(Bound::loose, Norm{.kind = NormKind::rms, .axes = axes, .affine = true}, {x, w});
      }
      for (NormKind kind : {NormKind::batch, NormKind::group, NormKind::instance}) {
        cases.add(Bound::loose, Norm{.kind = kind, .groups = 2}, {x});
        cases.add(Bound::loose, Norm{.kind = kind, .groups = 2, .eps = 0.1, .affine = true}, {x, weight, bias});
      }
      cases.add(Bound::loose, Norm{.kind = NormKind::batch}, {x, mean, variance});
      cases.add(Bound::loose, Norm{.kind = NormKind::batch, .affine = true}, {x, weight, bias, mean, variance});
      cases.expectRight(fill == Fill::tame && shape[0] == 2);
    }
}

TEST_P(EveryComposite, CrossEntropy) {
  for (const Extents& shape : {Extents{7, 33}, Extents{1, 1}, Extents{5, 131}}) {
    Cases cases;
    const ValueId logits = cases.input(dtype(), shape, Fill::tame),
                  target = cases.positions(DType::i64, {shape[0]}, 0, shape[1]);
    forEachKind<LossReduction>([&](LossReduction reduction) {
      for (double smoothing : {0.0, 0.2})
        for (int64_t ignore : {-100, 0})
          cases.add(Bound::loose, CrossEntropy{reduction, ignore, smoothing}, {logits, target});
    });
    cases.expectRight(true);
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryComposite, testing::Range<size_t>(0, kDTypes),
                         [](const auto& info) { return std::string(nameOf(dtypeAt(info.param))); });

}  // namespace
}  // namespace tokamak::sweep
