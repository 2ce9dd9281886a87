#include "codegen/llvm/lane_order.h"

#include <bit>
#include <cmath>
#include <random>

#include "codegen/llvm/testing.h"
#include "kernel/simt/run.h"

/// Which values hold their lanes paired, and that nobody can tell from the results.
namespace tokamak::codegen {
namespace {

using namespace kernel;

Kernel parsed(std::string_view text) {
  auto kernel = parseKernel(text);
  TK_CHECK(kernel.ok(), kernel.ok() ? "" : kernel.error().str());
  return *kernel;
}

/// Names of the variables that are read paired.
std::string pairedVariables(std::string_view text) {
  const Kernel kernel = parsed(text);
  const std::vector<bool> paired = pairedExpressions(kernel, 32);
  std::string names;
  for (size_t i = 0; i < paired.size(); ++i)
    if (auto* var = std::get_if<Var>(&kernel.expr(ExprId(i)).node); var && paired[i])
      names += (names.empty() ? "" : " ") + kernel.variable(var->var).name;
  return names;
}

constexpr const char* kNorm = R"(kernel @norm(in x: bf16[256], in w: bf16[128], out y: bf16[256]) {
  for i in 0..2 {
    var acc: f32x64 = 0.0
    for j in 0..128 step 64 {
      let v: f32x64 = cast<f32>(load<64> x[i*128 + j])
      acc = acc + v*v
    }
    let scale: f32 = rsqrt(fold(add, acc)/128.0 + 1e-05)
    for j_1 in 0..128 step 64 {
      let u: f32x64 = cast<f32>(load<64> x[i*128 + j_1])
      let n: f32x64 = cast<f32>(cast<bf16>(u*splat<64>(scale)))
      let g: f32x64 = cast<f32>(load<64> w[j_1])
      store y[i*128 + j_1] = cast<bf16>(select(n < 0.0, n*0.5, n)*g)
    }
  }
})";

TEST(LaneOrder, ANormIsPairedThroughout) { EXPECT_EQ(pairedVariables(kNorm), "acc v u n g"); }

TEST(LaneOrder, WhatMeetsMemoryIsNatural) {
  // v meets a float that was loaded, u is stored as it is, m is a mask; t is on its own.
  EXPECT_EQ(pairedVariables(R"(kernel @k(in x: bf16[256], in f: f32[64], out y: f32[64], out z: bf16[256]) {
    let v: f32x64 = cast<f32>(load<64> x[0])
    let w: f32x64 = load f[0]
    store z[0] = cast<bf16>(v + w)
    let u: f32x64 = cast<f32>(load<64> x[64])
    store y[0] = u
    let s: f32x64 = cast<f32>(load<64> x[128])
    let m: boolx64 = s < 0.0
    store z[128] mask m = cast<bf16>(s)
    let t: f32x64 = cast<f32>(load<64> x[192])
    store z[192] = cast<bf16>(t*2.0)
  })"),
            "t");
}

TEST(LaneOrder, ScansPositionsAndShortVectorsAreNatural) {
  EXPECT_EQ(pairedVariables(R"(kernel @k(in x: bf16[256], out y: bf16[256]) {
    let v: f32x64 = cast<f32>(load<64> x[0])
    store y[0] = cast<bf16>(prefix(add, v))
    let u: f32x64 = cast<f32>(load<64> x[64])
    store y[64] = cast<bf16>(select(ramp<64>(0) < 40, u, 0.0))
    let s: f32x16 = cast<f32>(load<16> x[128])
    store y[128] = cast<bf16>(s*2.0)
    let d: f32x64 = cast<f32>(load<64> x[128])
    store y[192] = cast<bf16>(splat<64>(extract(d, 3)))
  })"),
            "");
}

const std::vector<HostTarget>& targets() {
  static const std::vector<HostTarget> all = {HostTarget::detectUpTo(64), HostTarget::detectUpTo(32),
                                              HostTarget::detectUpTo(16)};
  return all;
}

TEST(LaneOrder, ANormIsWhatTheInterpreterSays) {
  std::vector<Array> buffers = {Array(DType::bf16, {256}), Array(DType::bf16, {128}), Array(DType::bf16, {256})};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (Array& a : buffers)
    for (int64_t i = 0; i < a.size(); ++i) a.setDouble(i, normal(random));
  std::vector<Array> want = buffers;
  ASSERT_TRUE(runSimt(parsed(kNorm), want, {}).ok());
  for (const HostTarget& target : targets()) {
    std::vector<Array> got = buffers;
    testing::run(parsed(kNorm), got, {}, target);
    for (int64_t i = 0; i < 256; ++i)
      ASSERT_NEAR(got[2].getDouble(i), want[2].getDouble(i), std::abs(want[2].getDouble(i)) / 64) << i;
  }
}

/// Every bf16 times a number, on to the nearest bf16: ties, infinities, NaN and subnormals, alone in their vector or
/// among others.
TEST(LaneOrder, RoundsEveryPatternToNearestEven) {
  constexpr int64_t count = 65536;
  Array x(DType::bf16, {count}), scale(DType::f32, {1});
  std::vector<uint16_t> order(count);
  for (int64_t i = 0; i < count; ++i) order[i] = static_cast<uint16_t>(i);
  std::mt19937 random(2);
  for (bool shuffled : {false, true}) {
    if (shuffled) std::shuffle(order.begin(), order.end(), random);
    std::copy(order.begin(), order.end(), x.as<uint16_t>());
    for (float factor :
         {1.0f, 1 + 0x1p-8f, 1 + 0x1.002p-8f, 1 + 0x1.ffep-9f, 0x1.8p-1f, 0x1.5p-120f, 0x1.01p-7f, 0x1p20f})
      for (int lanes : {32, 64})
        for (const HostTarget& target : targets()) {
          Writer w("scale");
          BufferId in = w.global("x", DType::bf16, count, Access::in), by = w.global("by", DType::f32, 1, Access::in),
                   out = w.global("y", DType::bf16, count, Access::out);
          w.loop("i", w.i64(0), w.i64(count), lanes, Binding::serial, [&](ExprId i) {
            const ExprId v = w.convert(w.load(in, i, lanes), DType::f32);
            w.store(out, i, w.convert(w.mul(v, w.splat(w.load(by, w.i64(0)), lanes)), DType::bf16));
          });
          scale.as<float>()[0] = factor;
          std::vector<Array> buffers = {x, scale, Array(DType::bf16, {count})};
          testing::run(std::move(w).finish(), buffers, {}, target);
          for (int64_t i = 0; i < count; ++i) {
            const float exact = bfloatToFloat(order[i]) * factor;
            const uint16_t got = buffers[2].as<uint16_t>()[i];
            if (std::isnan(exact))
              ASSERT_TRUE(std::isnan(bfloatToFloat(got))) << order[i];
            else
              ASSERT_EQ(got, floatToBfloat(exact)) << order[i] << " times " << factor << ", " << lanes << " lanes";
          }
        }
  }
}

}  // namespace
}  // namespace tokamak::codegen
