#include <gtest/gtest.h>

#include "codegen/cuda/emit.h"

/// Where the hardware's quick functions stand in for exact ones.
namespace tokamak::codegen::cuda {
namespace {

std::string textOf(const std::string& type, const std::string& value, bool halves) {
  const auto kernel = kernel::parseKernel(
      "kernel @k(in x: bf16[64], out y: " + type +
      "[64]) {\n  for b in 0..1 block.x {\n    for t in 0..64 thread.x {\n      let v: f32 = cast<f32>(load x[t])\n" +
      value + "    }\n  }\n}");
  EXPECT_TRUE(kernel) << kernel.error().str();
  const auto source = emitCuda(*kernel, {.halves = halves});
  EXPECT_TRUE(source) << source.error().str();
  return source->text;
}

TEST(QuickFunctions, ServeWhatIsRoundedToHalves) {
  const std::string store = "      store y[t] = cast<bf16>(exp(v)/(v + 1.0))\n";
  const std::string text = textOf("bf16", store, true);
  EXPECT_NE(text.find("tk::exp_quick("), std::string::npos) << text;
  EXPECT_NE(text.find("tk::div_quick("), std::string::npos) << text;
}

TEST(QuickFunctions, AreNotForWiderResults) {
  const std::string text = textOf("f32", "      store y[t] = exp(v)/(v + 1.0)\n", false);
  EXPECT_EQ(text.find("quick"), std::string::npos) << text;
  EXPECT_NE(text.find("expf("), std::string::npos) << text;
}

TEST(QuickFunctions, ServeWiderResultsThatAreRoundedLater) {
  const auto kernel = kernel::parseKernel(R"(kernel @k(in x: bf16[64], out y: f32[64]) {
  for t in 0..64 thread.x {
    store y[t] = erf(cast<f32>(load x[t]))
  }
})");
  ASSERT_TRUE(kernel) << kernel.error().str();
  const auto quick = emitCuda(*kernel, {.halves = true}), exact = emitCuda(*kernel);
  ASSERT_TRUE(quick && exact);
  EXPECT_NE(quick->text.find("tk::erf_quick("), std::string::npos) << quick->text;
  EXPECT_EQ(exact->text.find("quick"), std::string::npos) << exact->text;
}

TEST(QuickFunctions, TakeInTheNumbersAroundThem) {
  const std::string text = textOf("bf16",
                                  "      let s: f32 = v*0.5\n      let e: f32 = erf(s)\n      let q: f32 = v*v*-2.0\n"
                                  "      store y[t] = cast<bf16>((e + 1.0)*exp(q))\n",
                                  true);
  EXPECT_NE(text.find("tk::erf_far(v, 0.5f, 1.0f) + 1.0f"), std::string::npos) << text;
  EXPECT_NE(text.find("tk::exp2_quick(v * v * -2.88539"), std::string::npos) << text;
}

TEST(QuickFunctions, TakeInWhatMultipliesThem) {
  const std::string text = textOf("bf16",
                                  "      let s: f32 = v*0.5\n      let e: f32 = erf(s)\n      let h: f32 = e + 1.0\n"
                                  "      let q: f32 = v*v*-2.0\n      let d: f32 = exp(q)\n"
                                  "      store y[t] = cast<bf16>(0.5*h + d*0.25)\n",
                                  true);
  EXPECT_NE(text.find("tk::erf_far(v, 0.5f, 0.5f) + 0.5f"), std::string::npos) << text;
  EXPECT_NE(text.find("tk::exp2_quick(fmaf(v * v, -2.88539"), std::string::npos) << text;
  EXPECT_NE(text.find(", -2.0f))"), std::string::npos) << text;
}

TEST(QuickFunctions, TakeInTheNumberOfTheirFactor) {
  const std::string text =
      textOf("bf16",
             "      let s: f32 = v*0.5\n      let e: f32 = erf(v*0.25)\n      let h: f32 = e + 1.0\n"
             "      store y[t] = cast<bf16>(s*h)\n",
             true);
  EXPECT_NE(text.find("v * (tk::erf_far(v, 0.25f, 0.5f) + 0.5f)"), std::string::npos) << text;
}

/// y = s (v - m - v n) of eight lanes, where s, m and n are numbers of the row.
std::string textOfSum(const std::string& value, bool halves) {
  const auto kernel = kernel::parseKernel(
      "kernel @k(in x: bf16[512], in r: f32[3], out y: bf16[512]) {\n  for t in 0..64 thread.x {\n"
      "    let s: f32 = load r[0]\n    let m: f32 = load r[1]\n    let n: f32 = load r[2]\n"
      "    let v: f32x8 = cast<f32>(load<8> x[t*8])\n    store y[t*8] = cast<bf16>(" +
      value + ")\n  }\n}");
  EXPECT_TRUE(kernel) << kernel.error().str();
  const auto source = emitCuda(*kernel, {.halves = halves});
  EXPECT_TRUE(source) << source.error().str();
  return source->text;
}

TEST(SharedFactors, GoIntoSumsOfWhatLanesShare) {
  const std::string sum = "splat<8>(s)*((v - splat<8>(m)) - v*splat<8>(n))";
  const std::string quick = textOfSum(sum, true), exact = textOfSum(sum, false);
  EXPECT_NE(quick.find("v[l] * s - m * s - v[l] * (n * s)"), std::string::npos) << quick;
  EXPECT_NE(exact.find("s * (v[l] - m - v[l] * n)"), std::string::npos) << exact;
}

TEST(QuickFunctions, MultiplyInsteadOfDividingByARoot) {
  const std::string quotient = "v/splat<8>(sqrt(s))";
  const std::string quick = textOfSum(quotient, true), exact = textOfSum(quotient, false);
  EXPECT_NE(quick.find("v[l] * rsqrtf(s)"), std::string::npos) << quick;
  EXPECT_EQ(exact.find("rsqrtf"), std::string::npos) << exact;
}

TEST(Stores, RoundNothingTwice) {
  const std::string text = textOfSum("cast<f32>(cast<bf16>(v*splat<8>(s)))", true);
  EXPECT_EQ(text.find("tk::narrow_bf16("), text.rfind("tk::narrow_bf16(")) << text;
}

TEST(SharedFactors, StayWhereADifferenceMayBeNothing) {
  const std::string text = textOfSum("splat<8>(s)*(v - splat<8>(m))", true);
  EXPECT_NE(text.find("s * (v[l] - m)"), std::string::npos) << text;
}

TEST(QuickFunctions, TakeInNoNegativeFactorOfAnErrorFunction) {
  const std::string text = textOf(
      "bf16", "      let s: f32 = v*-0.5\n      let e: f32 = erf(s)\n      store y[t] = cast<bf16>(1.0 + e)\n", true);
  EXPECT_NE(text.find("tk::erf_far(s, 1.0f, 1.0f) + 1.0f"), std::string::npos) << text;
}

TEST(QuickFunctions, TakeInNothingThatChanges) {
  const std::string text = textOf("bf16",
                                  "      var a: f32 = v\n      let s: f32 = a*0.5\n      let e: f32 = erf(s)\n"
                                  "      a = 0.0\n      store y[t] = cast<bf16>(e + 1.0 + a)\n",
                                  true);
  EXPECT_NE(text.find("tk::erf_far(s, 1.0f, 1.0f) + 1.0f"), std::string::npos) << text;
}

TEST(QuickFunctions, AreNotForCounts) {
  const std::string text = textOf("bf16", "      store y[t] = cast<bf16>(exp(v/48.0))\n", true);
  EXPECT_NE(text.find("v / 48.0f"), std::string::npos) << text;
  EXPECT_NE(text.find("tk::exp_quick("), std::string::npos) << text;
}

TEST(QuickFunctions, AreNotForPlacesInMemory) {
  const std::string text = textOf(
      "bf16", "      let at: i64 = cast<i64>(floor(v/3.0))\n      store y[t] = load x[min(max(at, 0), 63)]\n", true);
  EXPECT_EQ(text.find("quick"), std::string::npos) << text;
}

}  // namespace
}  // namespace tokamak::codegen::cuda
