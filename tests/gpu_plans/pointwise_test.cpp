#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

TEST(GpuPointwise, TakesSixteenBytesAThread) {
  EXPECT_EQ(plansOf(R"(graph @g(%x: f32[64, 128], %y: f32[64, 128]) {
    %0 = add %x, %y : f32[64, 128]
    return %0
  })"),
            "pointwise: 64 threads, 1 x 4 lanes\n");
  EXPECT_EQ(plansOf(R"(graph @g(%x: bf16[70000]) {
    %0 = exp %x : bf16[70000]
    return %0
  })"),
            "pointwise: 64 threads, 1 x 8 lanes\n");
  EXPECT_EQ(plansOf(R"(graph @g(%x: bf16[300000]) {
    %0 = cast %x : f32[300000]
    return %0
  })"),
            "pointwise: 256 threads, 1 x 4 lanes\n");
}

TEST(GpuPointwise, HasSeveralLoadsInFlight) {
  EXPECT_EQ(plansOf(R"(graph @g(%x: f32[M]) {
    %0 = neg %x : f32[M]
    return %0
  })",
                    {{"M", 9001}}, {.hints = {{"M", 1 << 27}}}),
            "pointwise: 256 threads, 4 x 4 lanes\n");
}

TEST(GpuPointwise, CrossesRowsThatAreOdd) {
  EXPECT_EQ(plansOf(R"(graph @g(%x: bf16[9, 255], %b: bf16[255], %c: bf16[9, 1]) {
    %0 = broadcast %b {axes = [1]} : bf16[9, 255]
    %1 = broadcast %c {axes = [0, 1]} : bf16[9, 255]
    %2 = add %x, %0 : bf16[9, 255]
    %3 = mul %2, %1 : bf16[9, 255]
    return %3
  })"),
            "pointwise: 64 threads, 1 x 8 lanes across rows\n");
  // Half a full access is taken where it fits.
  EXPECT_EQ(plansOf(R"(graph @g(%x: bf16[9, 252], %b: bf16[252]) {
    %0 = broadcast %b {axes = [1]} : bf16[9, 252]
    %1 = add %x, %0 : bf16[9, 252]
    return %1
  })"),
            "pointwise: 64 threads, 1 x 4 lanes\n");
}

TEST(GpuPointwise, CrossesRowsOfAnySize) {
  for (int64_t n : {0, 1, 3, 8, 17, 255})
    EXPECT_EQ(plansOf(R"(graph @g(%x: bf16[3, M, N], %b: bf16[N], %c: bf16[3, 1, N]) {
      %0 = broadcast %b {axes = [2]} : bf16[3, M, N]
      %1 = broadcast %c {axes = [0, 1, 2]} : bf16[3, M, N]
      %2 = add %x, %0 : bf16[3, M, N]
      %3 = mul %2, %1 : bf16[3, M, N]
      return %3
    })",
                      {{"M", 5}, {"N", n}}, {.hints = {{"M", 1000}}}),
              "pointwise: 256 threads, 4 x 8 lanes across rows\n");
}

TEST(GpuPointwise, PutsVectorsThatShareARowOperandBelowEachOther) {
  constexpr const char* kScaled = R"(graph @g(%x: bf16[M, 48], %s: f32[48], %b: bf16[48]) {
    %0 = cast %x : f32[M, 48]
    %1 = broadcast %s {axes = [1]} : f32[M, 48]
    %2 = broadcast %b {axes = [1]} : bf16[M, 48]
    %3 = mul %0, %1 : f32[M, 48]
    %4 = cast %3 : bf16[M, 48]
    %5 = add %4, %2 : bf16[M, 48]
    return %5
  })";
  EXPECT_EQ(plansOf(kScaled, {{"M", 331}}, {.hints = {{"M", 1 << 20}}}), "pointwise: 288 threads, 4 x 8 lanes\n");
  EXPECT_EQ(plansOf(kScaled, {{"M", 331}}, {.hints = {{"M", 331}}}), "pointwise: 64 threads, 1 x 8 lanes\n");
}

TEST(GpuPointwise, FindsTheOperandOfALongConcatenation) {
  // Vectors lie within one operand; then, where operands begin anywhere, within several.
  for (int64_t width : {16, 5}) {
    std::string inputs, names;
    for (int i = 0; i < 7; ++i) {
      inputs += fmt::format("{}%x{}: bf16[37, {}]", i ? ", " : "", i, width * (1 + i % 3));
      names += fmt::format("{}%x{}", i ? ", " : "", i);
    }
    plansOf(fmt::format(R"(graph @g({0}, %y: bf16[37, {1}]) {{
      %0 = concat {2} {{axis = 1}} : bf16[37, {1}]
      %1 = mul %0, %y : bf16[37, {1}]
      %2 = concat {2} {{axis = 1}} : bf16[37, {1}]
      %3 = reduce %2 {{kind = sum, axes = [1]}} : bf16[37]
      return %1, %3
    }})",
                        inputs, 13 * width, names));
  }
}

TEST(GpuPointwise, ReadsInPlace) {
  plansOf(R"(graph @g(%x: bf16[40, 64], %y: bf16[40, 32], %t: f32[50, 48], %i: i64[10]) {
    %0 = slice %x {start = [0, 0], stride = [1, 1]} : bf16[40, 32]
    %1 = slice %x {start = [0, 32], stride = [1, 1]} : bf16[40, 32]
    %2 = mul %0, %1 : bf16[40, 32]
    %3 = concat %2, %y {axis = 1} : bf16[40, 64]
    %4 = pad %2 {low = [1, 3], high = [0, 5], value = 0.5} : bf16[41, 40]
    %5 = flip %x {axes = [1]} : bf16[40, 64]
    %6 = index_select %t, %i {axis = 0} : f32[10, 48]
    %7 = neg %6 : f32[10, 48]
    return %3, %4, %5, %7
  })");
}

TEST(GpuPointwise, DrawsTheSameRandomNumbers) {
  plansOf(R"(graph @g(%x: bf16[37, 65], %seed: i64[], %offset: i64[]) {
    %0 = dropout %x, %seed, %offset {p = 0.25} : bf16[37, 65]
    return %0
  })");
}

TEST(GpuPointwise, ScalarsAndNothing) {
  plansOf(R"(graph @g(%x: f32[], %y: f32[1, 1], %z: f32[0, 5]) {
    %0 = exp %x : f32[]
    %1 = exp %y : f32[1, 1]
    %2 = exp %z : f32[0, 5]
    return %0, %1, %2
  })");
}

}  // namespace
}  // namespace tokamak::gpu_plans
