#include "graph/builder.h"

#include <gtest/gtest.h>

namespace tokamak {
namespace {

Dim sym(const char* name) { return Dim::symbol(name); }

/// The graph as text; a mistake as its diagnostic.
std::string built(Builder& b) {
  const auto graph = b.finish();
  if (!graph) return graph.error().str();
  const auto again = parseGraph(print(*graph));
  EXPECT_TRUE(again.ok() && *again == *graph) << print(*graph);
  return print(*graph);
}

TEST(Builder, BuildsTheExampleOfItsHeader) {
  Builder b("gelu_bias");
  auto x = b.input("x", DType::f32, {sym("M"), 64});
  auto bias = b.input("b", DType::f32, {64});
  b.output(b.gelu(b.add(x, bias)));
  EXPECT_EQ(built(b),
            "graph @gelu_bias(%x: f32[M, 64], %b: f32[64]) {\n"
            "  %0 = broadcast %b {axes = [1]} : f32[M, 64]\n"
            "  %1 = add %x, %0 : f32[M, 64]\n"
            "  %2 = gelu %1 : f32[M, 64]\n"
            "  return %2\n"
            "}\n");
}

/// The dtype of `add` for operands of these dtypes and ranks.
DType added(DType a, size_t rankA, DType b, size_t rankB) {
  Builder builder;
  auto x = builder.input("x", a, Shape(rankA, Dim(3))), y = builder.input("y", b, Shape(rankB, Dim(3)));
  const ValueId sum = builder.add(x, y);
  EXPECT_TRUE(builder.ok());
  return builder.type(sum).dtype;
}

TEST(Builder, PromotesTensorsAsTorchDoes) {
  EXPECT_EQ(added(DType::f16, 1, DType::bf16, 1), DType::f32);
  EXPECT_EQ(added(DType::u8, 1, DType::i8, 1), DType::i16);
  EXPECT_EQ(added(DType::i64, 1, DType::f16, 1), DType::f16);
  EXPECT_EQ(added(DType::boolean, 1, DType::i8, 2), DType::i8);
  EXPECT_EQ(added(DType::f32, 1, DType::f64, 2), DType::f64);
}

TEST(Builder, ScalarTensorsAreWeakWithinTheirCategory) {
  EXPECT_EQ(added(DType::f32, 1, DType::f64, 0), DType::f32);
  EXPECT_EQ(added(DType::f64, 0, DType::f16, 2), DType::f16);
  EXPECT_EQ(added(DType::i32, 1, DType::f64, 0), DType::f64);
  EXPECT_EQ(added(DType::i8, 1, DType::i64, 0), DType::i8);
  EXPECT_EQ(added(DType::boolean, 1, DType::i32, 0), DType::i32);
  EXPECT_EQ(added(DType::i8, 0, DType::i64, 0), DType::i64);
}

TEST(Builder, NumbersAreWeaker) {
  const auto typeWith = [&](DType dtype, size_t rank, Scalar number, BinaryKind kind = BinaryKind::add) {
    Builder builder;
    auto x = builder.input("x", dtype, Shape(rank, Dim(3)));
    const ValueId left = builder.binary(kind, x, number), right = builder.binary(kind, number, x);
    EXPECT_EQ(builder.type(left), builder.type(right));
    EXPECT_TRUE(builder.ok());
    return builder.type(left).dtype;
  };
  EXPECT_EQ(typeWith(DType::i32, 1, Scalar::of(0.5)), DType::f32);
  EXPECT_EQ(typeWith(DType::i32, 0, Scalar::of(0.5)), DType::f32);
  EXPECT_EQ(typeWith(DType::f16, 1, Scalar::of(0.5)), DType::f16);
  EXPECT_EQ(typeWith(DType::f64, 0, Scalar::of(0.5)), DType::f64);
  EXPECT_EQ(typeWith(DType::u8, 1, Scalar::of(int64_t{300})), DType::u8);
  EXPECT_EQ(typeWith(DType::boolean, 1, Scalar::of(int64_t{1})), DType::i64);
  EXPECT_EQ(typeWith(DType::boolean, 1, Scalar::of(1.0)), DType::f32);
  EXPECT_EQ(typeWith(DType::i64, 1, Scalar::of(int64_t{2}), BinaryKind::div), DType::f32);
  EXPECT_EQ(typeWith(DType::bf16, 1, Scalar::of(int64_t{2}), BinaryKind::div), DType::bf16);
  EXPECT_EQ(typeWith(DType::i64, 1, Scalar::of(0.5), BinaryKind::lt), DType::boolean);
}

TEST(Builder, NumbersTakeTheTensorsDtypeAndWrap) {
  Builder b;
  auto x = b.input("x", DType::u8, {3});
  b.output(b.binary(BinaryKind::add, x, Scalar::of(int64_t{300})));
  auto y = b.input("y", DType::f16, {3});  // inputs may come late; the program has them first
  b.output(b.binary(BinaryKind::mul, Scalar::of(int64_t{2}), y));
  EXPECT_EQ(built(b),
            "graph @main(%x: u8[3], %y: f16[3]) {\n"
            "  %0 = full {value = 44} : u8[3]\n"
            "  %1 = add %x, %0 : u8[3]\n"
            "  %2 = full {value = 2.0} : f16[3]\n"
            "  %3 = mul %2, %y : f16[3]\n"
            "  return %1, %3\n"
            "}\n");
}

TEST(Builder, FunctionsOfFloatsPromoteIntegers) {
  Builder b;
  auto i = b.input("i", DType::i64, {3}), h = b.input("h", DType::f16, {3}), c = b.input("c", DType::boolean, {3});
  EXPECT_EQ(b.type(b.unary(UnaryKind::exp, i)).dtype, DType::f32);
  EXPECT_EQ(b.type(b.unary(UnaryKind::exp, c)).dtype, DType::f32);
  EXPECT_EQ(b.type(b.unary(UnaryKind::exp, h)).dtype, DType::f16);
  EXPECT_EQ(b.type(b.unary(UnaryKind::neg, i)).dtype, DType::i64);
  EXPECT_EQ(b.type(b.unary(UnaryKind::isnan, i)).dtype, DType::boolean);
  EXPECT_EQ(b.type(b.div(i, i)).dtype, DType::f32);
  EXPECT_EQ(b.type(b.binary(BinaryKind::floordiv, i, i)).dtype, DType::i64);
  EXPECT_EQ(b.type(b.reduce(ReduceKind::sum, c, {0})).dtype, DType::i64);
  EXPECT_TRUE(b.ok());
}

TEST(Builder, BroadcastsBothWaysAndSymbols) {
  Builder b;
  auto x = b.input("x", DType::f32, {sym("M"), 1}), y = b.input("y", DType::f32, {sym("N")}),
       c = b.input("c", DType::boolean, {});
  EXPECT_EQ(b.type(b.add(x, y)).str(), "f32[M, N]");
  EXPECT_EQ(b.type(b.select(c, x, y)).str(), "f32[M, N]");
  EXPECT_EQ(b.type(b.clamp(x, y, y)).str(), "f32[M, N]");
  EXPECT_TRUE(b.ok());
  auto z = b.input("z", DType::f32, {sym("K")});
  b.add(y, z);
  const auto graph = b.finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, "T0203");
  EXPECT_NE(graph.error().message.find("%y : f32[N], %z : f32[K]"), std::string::npos) << graph.error().str();
}

TEST(Builder, FoldsCountAxesFromTheEnd) {
  Builder b;
  auto x = b.input("x", DType::f32, {2, sym("M"), 5}), s = b.input("s", DType::f32, {});
  EXPECT_EQ(b.type(b.reduce(ReduceKind::sum, x, {-1})).str(), "f32[2, M]");
  EXPECT_EQ(b.type(b.reduce(ReduceKind::max, x, {-1, 0}, true)).str(), "f32[1, M, 1]");
  EXPECT_EQ(b.type(b.reduce(ReduceKind::mean, x, {})).str(), "f32[]");
  EXPECT_EQ(b.type(b.reduce(ReduceKind::argmax, s, {-1})).str(), "i64[]");
  EXPECT_EQ(b.type(b.reduce(ReduceKind::sum, s, {}, true)).str(), "f32[]");
  EXPECT_EQ(b.type(b.scan(ScanKind::sum, s, 0)).str(), "f32[]");
  EXPECT_EQ(b.type(b.scan(ScanKind::argmin, x, -2)).str(), "i64[2, M, 5]");
  EXPECT_EQ(b.type(b.softmax(x, -1)).str(), "f32[2, M, 5]");
  EXPECT_TRUE(b.ok());
}

TEST(Builder, ShapesWithTorchConveniences) {
  Builder b;
  auto x = b.input("x", DType::f32, {2, sym("M"), 6}), h = b.input("h", DType::f16, {2, sym("M"), 6});
  EXPECT_EQ(b.type(b.reshape(x, {-1, 6})).str(), "f32[2*M, 6]");
  EXPECT_EQ(b.type(b.reshape(x, {2, sym("M"), -1, 3})).str(), "f32[2, M, 2, 3]");
  EXPECT_EQ(b.reshape(x, {2, sym("M"), 6}), x);
  EXPECT_EQ(b.type(b.transpose(x, {0, -1, -2})).str(), "f32[2, 6, M]");
  EXPECT_EQ(b.type(b.concat({x, h}, -1)).str(), "f32[2, M, 12]");
  EXPECT_EQ(b.type(b.flip(x, {-1, 0})).str(), "f32[2, M, 6]");
  EXPECT_EQ(b.type(b.slice(x, {0, 0, 1}, {2, sym("M"), 3}, {1, 1, 2})).str(), "f32[2, M, 3]");
  EXPECT_EQ(b.type(b.pad(x, {0, 0, 1}, {0, 0, 1}, Scalar::of(int64_t{0}))).str(), "f32[2, M, 8]");
  EXPECT_TRUE(b.ok());
}

TEST(Builder, MatmulTakesVectorsAndBatches) {
  Builder b;
  auto in = [&, n = 0](Shape shape) mutable {
    return b.input("x" + std::to_string(n++), DType::f32, std::move(shape));
  };
  auto v = in({4}), m = in({3, 4}), w = in({5, 4}), batch = in({7, 4, 6}), wide = in({2, 1, 3, 4}), bias = in({5});
  EXPECT_EQ(b.type(b.matmul(v, v)).str(), "f32[]");
  EXPECT_EQ(b.type(b.matmul(m, v)).str(), "f32[3]");
  EXPECT_EQ(b.type(b.matmul(v, batch)).str(), "f32[7, 6]");
  EXPECT_EQ(b.type(b.matmul(m, batch)).str(), "f32[7, 3, 6]");
  EXPECT_EQ(b.type(b.matmul(wide, batch)).str(), "f32[2, 7, 3, 6]");
  EXPECT_EQ(b.type(b.matmul(wide, w, false, true, bias)).str(), "f32[2, 1, 3, 5]");
  EXPECT_TRUE(b.ok());
}

TEST(Builder, NetworksTakeTorchDefaults) {
  Builder b;
  auto x = b.input("x", DType::f32, {2, 6, sym("H"), 9}), w = b.input("w", DType::f32, {4, 6, 3, 3});
  auto row = b.input("row", DType::f32, {9}), t = b.input("t", DType::i64, {2}), s = b.input("s", DType::i64, {});
  EXPECT_EQ(b.type(b.conv(x, w, {})).str(), "f32[2, 4, H - 2, 7]");
  EXPECT_EQ(b.type(b.conv(x, w, {.stride = {2, 2}, .low = {1, 1}, .high = {1, 1}})).str(),
            "f32[2, 4, floordiv(H - 1, 2) + 1, 5]");
  EXPECT_EQ(b.type(b.pool(x, {.window = {3, 3}})).str(), "f32[2, 6, floordiv(H - 3, 3) + 1, 3]");
  EXPECT_EQ(b.type(b.adaptivePool(x, PoolKind::argmax, {1, 1})).str(), "i64[2, 6, 1, 1]");
  EXPECT_EQ(b.type(b.resize(x, {}, {18, 18})).str(), "f32[2, 6, 18, 18]");
  EXPECT_EQ(b.type(b.layerNorm(x, row, {})).str(), "f32[2, 6, H, 9]");
  EXPECT_EQ(b.type(b.layerNorm(x, {}, {})).str(), "f32[2, 6, H, 9]");
  EXPECT_EQ(b.type(b.rmsNorm(x, row)).str(), "f32[2, 6, H, 9]");
  EXPECT_EQ(b.type(b.crossEntropy(b.reduce(ReduceKind::mean, x, {1, 2}), t)).str(), "f32[]");
  EXPECT_EQ(b.type(b.dropout(x, s, s, 0.5)).str(), "f32[2, 6, H, 9]");
  EXPECT_TRUE(b.ok());
  const ValueId leaky = b.activation(ActivationKind::leaky_relu, x);
  b.output(leaky);
  EXPECT_NE(built(b).find("leaky_relu %x {alpha = 0.01}"), std::string::npos);
}

TEST(Builder, RemembersTheFirstMistake) {
  Builder b;
  auto x = b.input("x", DType::f32, {4});
  const ValueId bad = b.reduce(ReduceKind::sum, x, {3});
  EXPECT_FALSE(bad.valid());
  EXPECT_EQ(b.type(bad).str(), "f32[]");
  const ValueId after = b.matmul(bad, b.add(bad, x));
  EXPECT_FALSE(after.valid());
  b.output(after);
  const auto graph = b.finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, "T0204");
  EXPECT_FALSE(graph.error().hint.empty());
}

TEST(Builder, RefusesForeignValuesNamesAndNothing) {
  Builder foreign;
  EXPECT_FALSE(foreign.add(ValueId(7), ValueId(7)).valid());
  EXPECT_EQ(foreign.finish().error().code, "T0213");
  Builder twice;
  twice.output(twice.input("x", DType::f32, {}));
  twice.input("x", DType::f32, {});
  EXPECT_EQ(twice.finish().error().code, "T0207");
  Builder nothing;
  EXPECT_EQ(nothing.finish().error().code, "T0207");
  Builder size;
  size.output(size.full(Scalar::of(1.0), DType::f32, {sym("K")}));
  EXPECT_EQ(size.finish().error().code, "T0212");
  Builder huge;
  huge.input("x", DType::f32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_EQ(huge.finish().error().code, "T0206");
}

}  // namespace
}  // namespace tokamak
