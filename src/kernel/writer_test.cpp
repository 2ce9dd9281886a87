#include "kernel/writer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tokamak::kernel {
namespace {

/// Prints the value that `make` builds over two scalar i64 variables, x and y.
template <class F>
std::string shown(F&& make) {
  Writer w("k");
  const BufferId in = w.global("in", DType::i64, 64, Access::in);
  const ExprId x = w.let("x", w.load(in, w.i64(0))), y = w.let("y", w.load(in, w.i64(1)));
  w.declare("v", make(w, x, y));
  const std::string text = print(std::move(w).finish());
  const size_t from = text.find(" = ", text.find("var v")) + 3;
  return text.substr(from, text.find('\n', from) - from);
}

TEST(Writer, FoldsIntegers) {
  using E = ExprId;
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.add(w.i64(2), w.i64(3)); }), "5");
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.binary(BinaryKind::floordiv, w.i64(-7), w.i64(2)); }), "-4");
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.binary(BinaryKind::lt, w.i64(2), w.i64(3)); }), "true");
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.binary(BinaryKind::max, w.i64(2), w.i64(3)); }), "3");
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.mul(w.i64(INT64_MAX), w.i64(2)); }), "-2");
  EXPECT_EQ(shown([](Writer& w, E, E) { return w.binary(BinaryKind::div, w.i64(5), w.i64(0)); }), "0");
  EXPECT_EQ(shown([](Writer& w, E, E) {
              return w.add(w.imm(Scalar::of(int64_t{100}), DType::i8), w.imm(Scalar::of(int64_t{100}), DType::i8));
            }),
            "-56");
}

TEST(Writer, SimplifiesIntegers) {
  using E = ExprId;
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.add(w.i64(0), x); }), "x");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(x, w.i64(1)); }), "x");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(w.i64(0), x); }), "0");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.add(w.add(x, w.i64(3)), w.i64(4)); }), "x + 7");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.sub(w.add(x, w.i64(3)), w.i64(3)); }), "x");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.add(w.add(x, w.i64(3)), w.add(y, w.i64(4))); }), "x + y + 7");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.sub(w.add(x, y), x); }), "y");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(w.mul(x, w.i64(3)), w.i64(4)); }), "x*12");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(w.add(w.mul(x, w.i64(2)), w.i64(1)), w.i64(3)); }), "x*6 + 3");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(w.add(x, w.i64(1)), w.i64(3)); }), "(x + 1)*3");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.sub(x, x); }), "0");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.binary(BinaryKind::le, x, x); }), "true");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.binary(BinaryKind::rem, x, w.i64(1)); }), "0");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.select(w.boolean(false), x, y); }), "y");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.both(w.binary(BinaryKind::lt, x, y), w.boolean(true)); }),
            "x < y");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.both(w.binary(BinaryKind::lt, x, y), w.boolean(false)); }),
            "false");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.both({}, w.binary(BinaryKind::lt, x, y)); }), "x < y");
}

TEST(Writer, RejoinsAnIndexThatAReshapeCutUp) {
  using E = ExprId;
  const auto mod = [](Writer& w, E x, int64_t n) { return w.binary(BinaryKind::fmod, x, w.i64(n)); };
  const auto div = [](Writer& w, E x, int64_t n) { return w.binary(BinaryKind::div, x, w.i64(n)); };
  EXPECT_EQ(shown([&](Writer& w, E x, E) { return w.add(mod(w, x, 8), w.mul(div(w, x, 8), w.i64(8))); }), "x");
  EXPECT_EQ(
      shown([&](Writer& w, E x, E) { return w.add(w.mul(div(w, x, 8), w.i64(24)), w.mul(mod(w, x, 8), w.i64(3))); }),
      "x*3");
  EXPECT_EQ(shown([&](Writer& w, E x, E) { return w.add(mod(w, x, 8), w.mul(mod(w, div(w, x, 8), 4), w.i64(8))); }),
            "fmod(x, 32)");
  EXPECT_EQ(shown([&](Writer& w, E x, E) { return w.add(mod(w, x, 8), w.mul(div(w, x, 8), w.i64(9))); }),
            "fmod(x, 8) + x/8*9");
  EXPECT_EQ(shown([&](Writer& w, E x, E y) { return w.add(mod(w, x, 8), w.mul(div(w, y, 8), w.i64(8))); }),
            "fmod(x, 8) + y/8*8");
}

TEST(Writer, LeavesFloatsAlone) {
  using E = ExprId;
  const auto f = [](Writer& w, double v) { return w.imm(Scalar::of(v), DType::f32); };
  EXPECT_EQ(shown([&](Writer& w, E x, E) { return w.mul(w.convert(x, DType::f32), f(w, 0.0)); }), "cast<f32>(x)*0.0");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.add(f(w, 1.0), f(w, 2.0)); }), "1.0 + 2.0");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.unary(UnaryKind::neg, f(w, 0.0)); }), "-0.0");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.convert(f(w, -1.5), DType::i64); }), "-1");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.convert(f(w, NAN), DType::i32); }), "0");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.convert(f(w, 300), DType::u8); }), "44");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.convert(w.i64(1), DType::f32); }), "1.0");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.convert(f(w, 1.5), DType::f16); }), "cast<f16>(1.5)");
  EXPECT_EQ(shown([&](Writer& w, E, E) { return w.imm(Scalar::of(0.1), DType::bf16, 8); }),
            "cast<bf16>(0.100097656:f32x8)");
}

TEST(Writer, SplatsScalarsThatMeetVectors) {
  using E = ExprId;
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.mul(w.splat(x, 4), y); }), "splat<4>(x)*splat<4>(y)");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.mul(w.splat(x, 4), w.i64(2)); }), "splat<4>(x)*2");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.add(w.ramp(x, 4), w.i64(2)); }), "ramp(x + 2)");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.add(w.splat(y, 4), w.ramp(x, 4)); }), "ramp(y + x)");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.extract(w.ramp(x, 4), 2); }), "x + 2");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.fold(BinaryKind::max, w.splat(x, 4)); }), "x");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.load(BufferId(0), w.ramp(x, 4)); }), "load in[x]");
  EXPECT_EQ(shown([](Writer& w, E x, E) { return w.load(BufferId(0), x, 4, w.boolean(false)); }), "0");
  EXPECT_EQ(shown([](Writer& w, E x, E y) { return w.load(BufferId(0), x, 4, w.binary(BinaryKind::lt, x, y)); }),
            "load in[x] mask splat<4>(x < y)");
}

TEST(Writer, WritesDimensions) {
  Writer w("k");
  const Dim m = Dim::symbol("M"), n = Dim::symbol("N");
  const BufferId y = w.global("y", DType::i64, 8, Access::out);
  for (const Dim& d :
       {Dim(7), m, m * n * Dim(4) + Dim(1), Dim::floorDiv(m + Dim(15), 16), n - m, Dim::mod(m, 8) * Dim::max(m, n)})
    w.store(y, w.i64(0), w.dim(d));
  EXPECT_EQ(print(std::move(w).finish()), R"(kernel @k(out y: i64[8]; M, N) {
  store y[0] = 7
  store y[0] = M
  store y[0] = M*N*4 + 1
  store y[0] = floordiv(M + 15, 16)
  store y[0] = 0 - M + N
  store y[0] = max(M, N)*rem(M, 8)
}
)");
}

TEST(Writer, LeavesOutLoopsAndBranchesThatNeedNoRunning) {
  Writer w("k");
  const BufferId y = w.global("y", DType::i64, 8, Access::out);
  w.loop("none", w.i64(4), w.i64(4), 1, Binding::parallel, [&](ExprId i) { w.store(y, i, i); });
  w.loop("once", w.i64(3), w.i64(7), 4, Binding::serial, [&](ExprId i) { w.store(y, i, i); });
  w.loop("p", w.i64(3), w.i64(4), 4, Binding::parallel, [&](ExprId i) { w.store(y, i, i); });
  w.when(w.boolean(false), [&] { w.barrier(); }, [&] { w.store(y, w.i64(1), w.i64(2)); });
  w.store(y, w.i64(0), w.i64(0), w.boolean(false));
  EXPECT_EQ(print(std::move(w).finish()), R"(kernel @k(out y: i64[8]) {
  store y[3] = 3
  for p in 3..4 step 4 parallel {
    store y[p] = p
  }
  store y[1] = 2
}
)");
}

TEST(Writer, NestedLoopsKeepTheirBodies) {
  Writer w("k");
  const BufferId y = w.global("y", DType::i64, 4096, Access::out);
  for (int r = 0; r < 20; ++r)
    w.loop("i", w.i64(0), w.i64(4), 1, Binding::serial, [&](ExprId i) {
      w.loop("j", w.i64(0), w.i64(4), 1, Binding::unroll,
             [&](ExprId j) { w.store(y, w.add(w.mul(i, w.i64(4)), j), j); });
      w.store(y, i, i);
    });
  const Kernel k = std::move(w).finish();
  ASSERT_EQ(k.body.size(), 20u);
  for (const Stmt& s : k.body) EXPECT_EQ(std::get<For>(s.node).body.size(), 2u);
}

TEST(Kernel, InternsEqualExpressionsOnce) {
  Kernel k;
  std::vector<ExprId> first;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 1000; ++i) {
      const ExprId id = k.intern({Imm{Scalar::of(int64_t{i})}, {DType::i64, 1 + i % 3}});
      if (round == 0)
        first.push_back(id);
      else
        EXPECT_EQ(id, first[static_cast<size_t>(i)]);
    }
  EXPECT_EQ(k.exprCount(), 1000u);
  EXPECT_EQ(k.intern({Imm{Scalar::of(NAN)}, {}}), k.intern({Imm{Scalar::of(-NAN)}, {}}));
  EXPECT_NE(k.intern({Imm{Scalar::of(0.0)}, {}}), k.intern({Imm{Scalar::of(-0.0)}, {}}));
}

TEST(Kernel, TypesHaveNames) {
  EXPECT_EQ((ValueType{DType::f32, 1}).str(), "f32");
  EXPECT_EQ((ValueType{DType::boolean, 16}).str(), "boolx16");
}

}  // namespace
}  // namespace tokamak::kernel
