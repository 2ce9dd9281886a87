#include <fmt/format.h>
#include <gtest/gtest.h>

#include "e2e/sweep.h"
#include "graph/op_list.h"

/// Every op, of every kind, on every dtype: what the language admits is written here once more, so that an op that the
/// verifier comes to refuse, or one that nobody wrote a case for, fails.
namespace tokamak::sweep {
namespace {

using DTypes = bool (*)(DType);

bool any(DType) { return true; }
bool floats(DType t) { return isFloat(t); }
bool numbers(DType t) { return t != DType::boolean; }
bool integers(DType t) { return isInteger(t); }
bool bits(DType t) { return !isFloat(t); }
bool onlyI64(DType t) { return t == DType::i64; }

/// An op with operands that suit it but for, maybe, the dtype.
struct Example {
  Op op;
  std::vector<ValueId> operands;
  DTypes admits;
  std::optional<TensorType> declared;
};

/// Makes the examples of each op. A new op without an overload does not compile.
class Examples {
 public:
  Examples(Cases& cases, DType dtype) : cases_(cases), dtype_(dtype) {}

  void operator()(const Input&) {}
  void operator()(const Constant&) {
    out.push_back({Constant{std::make_shared<const Array>(dtype_, std::vector<int64_t>{3})}, {}, any, {}});
  }
  void operator()(const Full&) { declare(Full{Scalar::of(int64_t{1})}, {}, any); }
  void operator()(const Iota&) { declare(Iota{1}, {}, numbers); }
  void operator()(const Random&) {
    forEachKind<RandomKind>([&](RandomKind kind) {
      declare(Random{kind}, {scalar(), scalar()}, kind == RandomKind::bits ? onlyI64 : floats);
    });
  }
  void operator()(const Unary& op) { give(op, {x()}, unaryTypes(op.kind)); }
  void operator()(const Binary& op) { give(op, {x(), x()}, binaryTypes(op.kind)); }
  void operator()(const Select&) { give(Select{}, {cases_.input(DType::boolean, {4, 6}), x(), x()}, any); }
  void operator()(const Clamp&) { give(Clamp{}, {x(), x(), x()}, any); }
  void operator()(const Cast&) {
    for (size_t to = 0; to < kDTypes; ++to) out.push_back({Cast{}, {x()}, any, TensorType{dtypeAt(to), {4, 6}}});
    declare(Cast{true}, {x()}, floats);
  }
  void operator()(const Reduce&) {
    forEachKind<ReduceKind>([&](ReduceKind kind) {
      const bool averages = kind == ReduceKind::mean || kind == ReduceKind::var;
      for (const std::vector<Axis>& axes : {std::vector<Axis>{0}, {1}, {0, 1}})
        give(Reduce{kind, axes}, {x()}, averages ? floats : any);
    });
    give(Reduce{ReduceKind::max, {1}, 0, true}, {x()}, any);
    give(Reduce{ReduceKind::var, {1}, 1}, {x()}, floats);
  }
  void operator()(const Scan&) {
    forEachKind<ScanKind>([&](ScanKind kind) { give(Scan{kind, 1}, {x()}, any); });
  }
  void operator()(const Broadcast&) { out.push_back({Broadcast{{1, 2}}, {x()}, any, TensorType{dtype_, {2, 4, 6}}}); }
  void operator()(const Reshape&) { out.push_back({Reshape{}, {x()}, any, TensorType{dtype_, {3, 8}}}); }
  void operator()(const Transpose&) { give(Transpose{{1, 0}}, {x()}, any); }
  void operator()(const Slice&) { out.push_back({Slice{{1, 0}, {2, 1}}, {x()}, any, TensorType{dtype_, {2, 6}}}); }
  void operator()(const Pad&) { give(Pad{{1, 0}, {0, 2}, Scalar::of(int64_t{1})}, {x()}, any); }
  void operator()(const Concat&) { give(Concat{1}, {x(), x()}, any); }
  void operator()(const Flip&) { give(Flip{{0}}, {x()}, any); }
  void operator()(const Gather&) {
    for (DType index : {DType::i32, DType::i64}) give(Gather{1}, {x(), cases_.positions(index, {4, 3}, 0, 6)}, any);
  }
  void operator()(const IndexSelect&) { give(IndexSelect{0}, {x(), cases_.positions(DType::i64, {5}, 0, 4)}, any); }
  void operator()(const Scatter&) {
    forEachKind<ScatterKind>(
        [&](ScatterKind kind) { give(Scatter{1, kind}, {x(), cases_.positions(DType::i64, {4, 6}, 0, 6), x()}, any); });
  }
  void operator()(const Pool&) {
    forEachKind<PoolKind>([&](PoolKind kind) {
      give(Pool{.kind = kind, .window = {3}, .stride = {1}, .low = {1}, .high = {1}, .dilation = {1}}, {x()},
           kind == PoolKind::avg ? floats : any);
    });
  }
  void operator()(const AdaptivePool&) {
    forEachKind<PoolKind>([&](PoolKind kind) {
      const DType result = kind == PoolKind::argmax ? DType::i64 : dtype_;
      out.push_back({AdaptivePool{kind, 1}, {x()}, kind == PoolKind::avg ? floats : any, TensorType{result, {4, 4}}});
    });
  }
  void operator()(const Resize&) {
    out.push_back({Resize{ResizeKind::nearest, 1}, {x()}, any, TensorType{dtype_, {4, 9}}});
    out.push_back({Resize{ResizeKind::linear, 1}, {x()}, floats, TensorType{dtype_, {4, 9}}});
  }
  void operator()(const MatMul&) { give(MatMul{false, true}, {x(), x()}, numbers); }
  void operator()(const Conv&) {
    give(Conv{{1}, {1}, {1}, {1}, 1}, {input({1, 2, 6}), input({3, 2, 3}), input({3})}, floats);
  }
  void operator()(const Attention&) { give(Attention{}, {x(), x(), x()}, floats); }
  void operator()(const Softmax&) {
    for (bool log : {false, true}) give(Softmax{1, log}, {x()}, floats);
  }
  void operator()(const Norm&) {
    forEachKind<NormKind>([&](NormKind kind) { give(Norm{.kind = kind, .groups = 2}, {input({2, 4, 6})}, floats); });
  }
  void operator()(const Activation& op) {
    give(Activation{op.kind, 0.5}, {x()}, op.kind == ActivationKind::relu ? numbers : floats);
  }
  void operator()(const CrossEntropy&) {
    forEachKind<LossReduction>([&](LossReduction reduction) {
      give(CrossEntropy{reduction}, {x(), cases_.positions(DType::i64, {4}, 0, 6)}, floats);
    });
  }
  void operator()(const Dropout&) { give(Dropout{0.25}, {x(), scalar(), scalar()}, floats); }

  std::vector<Example> out;

 private:
  static DTypes unaryTypes(UnaryKind kind) {
    switch (kind) {
      case UnaryKind::neg:
      case UnaryKind::abs:
      case UnaryKind::sign:
      case UnaryKind::floor:
      case UnaryKind::ceil:
      case UnaryKind::round:
      case UnaryKind::trunc: return numbers;
      case UnaryKind::isnan:
      case UnaryKind::isinf:
      case UnaryKind::isfinite:
      case UnaryKind::logical_not: return any;
      case UnaryKind::bitnot: return bits;
      default: return floats;
    }
  }
  static DTypes binaryTypes(BinaryKind kind) {
    switch (kind) {
      case BinaryKind::sub:
      case BinaryKind::div:
      case BinaryKind::floordiv:
      case BinaryKind::rem:
      case BinaryKind::fmod:
      case BinaryKind::pow: return numbers;
      case BinaryKind::atan2: return floats;
      case BinaryKind::bit_and:
      case BinaryKind::bit_or:
      case BinaryKind::bit_xor: return bits;
      case BinaryKind::shl:
      case BinaryKind::shr: return integers;
      default: return any;
    }
  }

  ValueId input(const Extents& shape) { return cases_.input(dtype_, shape, Fill::tame); }
  ValueId x() { return input({4, 6}); }
  ValueId scalar() { return cases_.positions(DType::i64, {}, 1, 99); }
  void give(const Op& op, std::vector<ValueId> operands, DTypes admits) {
    out.push_back({op, std::move(operands), admits, {}});
  }
  void declare(const Op& op, std::vector<ValueId> operands, DTypes admits) {
    out.push_back({op, std::move(operands), admits, TensorType{dtype_, {4, 6}}});
  }

  Cases& cases_;
  DType dtype_;
};

class EveryOp : public testing::TestWithParam<size_t> {};

TEST_P(EveryOp, IsAdmittedAndRightOnItsDtypes) {
  const DType dtype = dtypeAt(GetParam());
  Cases cases;  // one graph of all: a compilation costs far more than an op
  forEachOp([&](const auto& op) {
    Examples examples(cases, dtype);
    examples(op);
    EXPECT_FALSE(examples.out.empty()) << mnemonic(op);
    for (const Example& example : examples.out) {
      const TensorType* declared = example.declared ? &*example.declared : nullptr;
      std::vector<TensorType> types;
      types.reserve(example.operands.size());
      for (ValueId v : example.operands) types.push_back(cases.type(v));
      const auto inferred = inferType(example.op, types, declared);
      EXPECT_EQ(inferred.ok(), example.admits(dtype))
          << mnemonic(example.op) << " of " << nameOf(dtype) << ": " << (inferred ? "" : inferred.error().str());
      const Bound bound = isHalf(dtype) ? Bound::scaled : Bound::loose;
      if (inferred) cases.add(isFloat(inferred->dtype) ? bound : Bound::exact, example.op, example.operands, declared);
    }
  });
  cases.expectRight(true);
}

INSTANTIATE_TEST_SUITE_P(DTypes, EveryOp, testing::Range<size_t>(0, kDTypes),
                         [](const auto& info) { return std::string(nameOf(dtypeAt(info.param))); });

}  // namespace
}  // namespace tokamak::sweep
