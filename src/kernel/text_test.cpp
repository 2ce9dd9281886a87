#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel/kernel.h"
#include "kernel/writer.h"

namespace tokamak::kernel {
namespace {

constexpr const char* kRowSum = R"(kernel @row_sum(in x: f32[4096*M], out y: f32[M]; M) {
  for i in 0..M parallel(grain 4) {
    var acc: f32x16 = 0.0
    for j in 0..4096 step 16 {
      let v: f32x16 = load x[i*4096 + j]
      acc = acc + v
    }
    store y[i] = fold(add, acc)
  }
}
)";

constexpr const char* kEverything = R"(kernel @everything(in a: f16[N],
    in idx: i32[N],
    out b: bf16[N],
    inout c: f64[max(M, N)],
    scratch s: bool[8]; M, N, $load) resident 2 cluster 4 reach [4*N + 1024] {
  cluster both: f32[8]
  inbox came: f64[4]
  shared tile: f32[1024]
  local row: i64[4]
  let n: i64 = floordiv(N + 15, 16)*16 - $load
  for b_1 in 0..N step 256 block.x {
    for t in 0..256 thread.x {
      let at: i64x4 = ramp(b_1 + t*4)
      let m: boolx4 = at < splat<4>(N)
      let h: f32x4 = cast<f32>(load<4> a[b_1 + t*4] mask m)
      let g: i32x4 = load idx[at] mask m
      let l: f16x4 = load a[t*4] aligned evict_last
      let o: f16x4 = load a[t*4] mask m aligned
      let f: f16 = load a[t] evict_first
      let r: f16 = load a[t] streaming
      let w: f32 = warpfold(add, fold(add, h), 8)
      let far: f32x4 = warpfold(max, h, 4, 8)
      let p: i64 = warpprefix(max, t, 32)
      let q: f32 = warpshift(w, 0.5, 8)
      var k: i64 = philox(7, n, b_1)
      k = rem(k, 5) + -3
      let picked: i64x4 = within(at, N, m)
      if and(k >= 2, true) {
        k = k - 1
      } else {
        k = select(k == 0, 1, k)
      }
      store tile[t] = fold(max, h)*0.5 + 1e-05
      barrier
      store both[0] = 1.0
      barrier cluster
      store came[0] = 1.0
      barrier inbox
      store b[at] mask and(m, g != 3) = cast<bf16>(exp(h/2.0)) streaming
      store c[t] = prefix(add, 1.5:f64x2)
      store c[t*2] aligned = 0.5:f64x2
      store tile[t*4] mask m aligned = h
      store row[0] = cast<i64>(extract(h, 3) - (1.0 - -inf))
      store s[0] = logical_not(isnan(nan))
      prefetch a[t*4 + 64]
      prefetch a[t*4 + 1024] near
    }
  }
}
)";

std::string roundTrip(std::string_view text) {
  auto kernel = parseKernel(text, "k.tk");
  EXPECT_TRUE(kernel.ok()) << kernel.error().str();
  return kernel ? print(*kernel) : "";
}

TEST(KernelText, PrintsWhatItParsed) {
  EXPECT_EQ(roundTrip(kRowSum), kRowSum);
  EXPECT_EQ(roundTrip(kEverything), kEverything);
  EXPECT_EQ(roundTrip("kernel @k() {\n}\n"), "kernel @k() {\n}\n");
  EXPECT_EQ(roundTrip("kernel @k(; M, N) {\n}\n"), "kernel @k(; M, N) {\n}\n");
}

TEST(KernelText, LanesComeFromTheDeclaredTypeOnBothSidesOfAnOperator) {
  const char* text = R"(kernel @k(in x: f32[64], out y: f32[64]) {
  let v: f32x16 = load x[0] + load x[16]
  store y[0] = v
}
)";
  EXPECT_NE(roundTrip(text).find("load<16> x[0] + load<16> x[16]"), std::string::npos);
}

TEST(KernelText, KeepsTheGroupingOfOperators) {
  for (const char* value : {"a - (b - a)", "a - b - a", "(a + b)*(a - b)", "a/(b*a)", "a/b*a", "a*(b*a)",
                            "(a < b) == (b < a)", "neg(a)*-1", "a + -9223372036854775808"}) {
    const bool boolean = std::string_view(value).find("==") != std::string_view::npos;
    const std::string text =
        std::string("kernel @k(; a, b) {\n  let v: ") + (boolean ? "bool" : "i64") + " = " + value + "\n}\n";
    EXPECT_EQ(roundTrip(text), text);
  }
}

TEST(KernelText, NumbersKeepTypeAndValue) {
  Writer w("numbers");
  const float inf = std::numeric_limits<float>::infinity();
  for (double v : {0.0, -0.0, 1.0, 0.1, 1e30, 1e-45, 3.4028234663852886e38, double(inf), -double(inf), std::nan("")}) {
    w.declare("a", w.imm(Scalar::of(v), DType::f32));
    w.declare("b", w.imm(Scalar::of(v), DType::f64, 8));
    const BufferId out = w.local("out", DType::f64, 8);
    w.store(out, w.i64(0), w.imm(Scalar::of(v), DType::f64));
    w.store(out, w.i64(0), w.imm(Scalar::of(v), DType::f64, 8));
  }
  for (DType t : {DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
    const BufferId out = w.local("n", t, 8);
    for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{127}, std::numeric_limits<int64_t>::min()}) {
      w.store(out, w.i64(1), w.imm(Scalar::of(v), t));
      w.store(out, w.i64(1), w.imm(Scalar::of(v), t, 4));
    }
  }
  const Kernel kernel = std::move(w).finish();
  const std::string text = print(kernel);
  auto parsed = parseKernel(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().str() << text;
  EXPECT_EQ(print(*parsed), text);
  ASSERT_EQ(parsed->body.size(), kernel.body.size());
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    if (!std::holds_alternative<Store>(kernel.body[i].node)) continue;
    const ExprId a = std::get<Store>(kernel.body[i].node).value, b = std::get<Store>(parsed->body[i].node).value;
    EXPECT_EQ(kernel.expr(a), parsed->expr(b)) << i;
  }
}

/// A chain in which every value uses the one before twice: 2^200 nodes written out.
TEST(KernelText, SharedPartsPrintOnce) {
  Writer w("shared_parts");
  const BufferId x = w.global("x", DType::f32, 1, Access::in);
  const BufferId y = w.global("y", DType::f32, 1, Access::out);
  ExprId v = w.load(x, w.i64(0));
  for (int i = 0; i < 200; ++i) v = w.add(w.mul(v, v), w.unary(UnaryKind::exp, v));
  w.store(y, w.i64(0), v);
  const Kernel kernel = std::move(w).finish();
  const std::string text = print(kernel);
  EXPECT_LT(text.size(), 20000u);
  auto parsed = parseKernel(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().str();
  EXPECT_TRUE(verify(*parsed).ok());
  EXPECT_EQ(print(*parsed), text);
}

TEST(KernelText, DeepExpressionsPrintInPieces) {
  Writer w("deep");
  const BufferId y = w.global("y", DType::f32, 1, Access::out);
  const VarId x = w.declare("x", w.imm(Scalar::of(1.0), DType::f32));
  ExprId v = w.get(x);
  for (int i = 0; i < 5000; ++i) v = i % 2 ? w.unary(UnaryKind::tanh, v) : w.sub(w.get(x), v);
  w.store(y, w.i64(0), v);
  const std::string text = print(std::move(w).finish());
  EXPECT_EQ(roundTrip(text), text);
}

TEST(KernelText, NamesAreIdentifiersOfTheirOwn) {
  Writer w("%weird name");
  const BufferId x = w.global("%0", DType::f32, Dim::symbol("max"), Access::in);
  const BufferId y = w.global("%0", DType::f32, Dim::symbol("max"), Access::out);
  w.loop("max", w.i64(0), w.dim(Dim::symbol("max")), 1, Binding::parallel, [&](ExprId i) {
    const ExprId v = w.let("load", w.load(x, i));
    w.store(y, i, w.let("", w.add(v, v)));
  });
  const std::string text = print(std::move(w).finish());
  EXPECT_EQ(text, R"(kernel @_weird_name(in _0: f32[max], out _0_1: f32[max]; $max) {
  for max_1 in 0..$max parallel {
    let load_1: f32 = load _0[max_1]
    let v: f32 = load_1 + load_1
    store _0_1[max_1] = v
  }
}
)");
}

struct Bad {
  const char* text;
  const char* code;
  int line, column;
};

TEST(KernelText, MistakesAreLocated) {
  const Bad cases[] = {
      {"", "T0410", 1, 1},
      {"kernel", "T0410", 1, 7},
      {"kernel @k(in x: f33[4]) {}", "T0410", 1, 17},
      {"kernel @k(in x: f32[4) {}", "T0410", 1, 26},
      {"kernel @k(in x: f32[4 +]) {}", "T0104", 1, 24},
      {"kernel @k(in x: f32[4], in x: f32[4]) {}", "T0411", 1, 28},
      {"kernel @k(; M, M) {}", "T0411", 1, 16},
      {"kernel @k() {\n  let v: i64 = w\n}", "T0411", 2, 16},
      {"kernel @k() {\n  let v: i64 = 99999999999999999999\n}", "T0412", 2, 16},
      {"kernel @k() {\n  let v: i8 = 128\n}", "T0412", 2, 15},
      {"kernel @k() {\n  let v: f32 = 1e999\n}", "T0412", 2, 16},
      {"kernel @k() {\n  let v: f16 = 1.0\n}", "T0412", 2, 16},
      {"kernel @k() {\n  let v: f32x99999 = 1.0\n}", "T0412", 2, 10},
      {"kernel @k() {\n  let v: f32 = 1.0 + 1\n}", "T0420", 2, 20},
      {"kernel @k() {\n  let v: i64 = warpfold(add, 1, 4, 16)\n}", "T0420", 2, 16},
      {"kernel @k() {\n  let v: i64 = foo(1)\n}", "T0411", 2, 16},
      {"kernel @k() {\n  let v: i64 = -v\n}", "T0410", 2, 16},
      {"kernel @k() {\n  for i in 0..4 sideways {\n}\n}", "T0410", 2, 17},
      {"kernel @k() {\n  for i in 0..4 step 0 {\n}\n}", "T0412", 2, 22},
      {"kernel @k() {\n  for i in 0..4 {\n}\nlet j: i64 = i\n}", "T0411", 4, 14},
      {"kernel @k() {\n  store y[0] = 1\n}", "T0411", 2, 9},
      {"kernel @k() {\n  nonsense\n}", "T0411", 2, 3},
      {"kernel @k() {\n  let let: i64 = 1\n}", "T0411", 2, 7},
      {"kernel @k() {\n}\n}", "T0410", 3, 1},
      {"kernel @k() { \xff\xfe }", "T0410", 1, 15},
  };
  for (const Bad& bad : cases) {
    auto kernel = parseKernel(bad.text, "k.tk");
    ASSERT_FALSE(kernel.ok()) << bad.text;
    EXPECT_EQ(kernel.error().code, bad.code) << bad.text << "\n" << kernel.error().str();
    EXPECT_EQ(kernel.error().location, (Location{"k.tk", bad.line, bad.column})) << bad.text << "\n"
                                                                                 << kernel.error().str();
    EXPECT_FALSE(kernel.error().hint.empty()) << kernel.error().str();
  }
}

TEST(KernelText, EveryCutIsADiagnostic) {
  for (std::string_view text : {kRowSum, kEverything})
    for (size_t n = 0; n < text.size() - 2; ++n) {
      auto kernel = parseKernel(text.substr(0, n));
      ASSERT_FALSE(kernel.ok()) << text.substr(0, n);
      EXPECT_GT(kernel.error().location.line, 0);
    }
}

TEST(KernelText, DeepNestingIsADiagnostic) {
  const auto expectDeep = [](const std::string& text) {
    auto kernel = parseKernel(text);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, "T0413");
  };
  expectDeep("kernel @k() {\n let v: i64 = " + std::string(100000, '(') + "1");
  std::string calls, loops, ifs;
  for (int i = 0; i < 50000; ++i) {
    calls += "abs(";
    loops += "for v" + std::to_string(i) + " in 0..1 {";
    ifs += "if true {";
  }
  expectDeep("kernel @k() {\n let v: i64 = " + calls);
  expectDeep("kernel @k() {" + loops);
  expectDeep("kernel @k() {" + ifs);
}

TEST(KernelText, CommentsAreSkipped) {
  EXPECT_EQ(roundTrip("// a kernel\nkernel @k() { // empty\n}\n// end"), "kernel @k() {\n}\n");
}

}  // namespace
}  // namespace tokamak::kernel
