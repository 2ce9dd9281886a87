#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

/// The gradients of a layer norm's input, weight and bias.
std::string normBackward(std::string_view dtype, std::string_view m, std::string_view n) {
  return fmt::format(
      R"(graph @g(%dy: {0}[{1}, {2}], %x: {0}[{1}, {2}], %w: {0}[{2}], %mean: f32[{1}], %rstd: f32[{1}]) {{
    %0 = cast %dy : f32[{1}, {2}]
    %1 = cast %x : f32[{1}, {2}]
    %2 = broadcast %mean {{axes = [0]}} : f32[{1}, {2}]
    %3 = sub %1, %2 : f32[{1}, {2}]
    %4 = broadcast %rstd {{axes = [0]}} : f32[{1}, {2}]
    %xhat = mul %3, %4 : f32[{1}, {2}]
    %5 = cast %w : f32[{2}]
    %6 = broadcast %5 {{axes = [1]}} : f32[{1}, {2}]
    %g = mul %0, %6 : f32[{1}, {2}]
    %7 = mul %g, %xhat : f32[{1}, {2}]
    %c1 = reduce %7 {{kind = mean, axes = [1]}} : f32[{1}]
    %c2 = reduce %g {{kind = mean, axes = [1]}} : f32[{1}]
    %8 = broadcast %c1 {{axes = [0]}} : f32[{1}, {2}]
    %9 = broadcast %c2 {{axes = [0]}} : f32[{1}, {2}]
    %10 = mul %xhat, %8 : f32[{1}, {2}]
    %11 = sub %g, %10 : f32[{1}, {2}]
    %12 = sub %11, %9 : f32[{1}, {2}]
    %13 = mul %12, %4 : f32[{1}, {2}]
    %dx = cast %13 : {0}[{1}, {2}]
    %14 = mul %0, %xhat : f32[{1}, {2}]
    %15 = reduce %14 {{kind = sum, axes = [0]}} : f32[{2}]
    %16 = reduce %0 {{kind = sum, axes = [0]}} : f32[{2}]
    %dw = cast %15 : {0}[{2}]
    %db = cast %16 : {0}[{2}]
    return %dx, %dw, %db
  }})",
      dtype, m, n);
}

size_t lines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

TEST(GpuBothWays, GradientsOfANormInOnePass) {
  EXPECT_EQ(plansOf(normBackward("bf16", "300", "256")),
            "reduce: registers, 16 threads x 8, 2 x 8 lanes, 4 blocks, 528 in all, then columns, 8 threads x 64, 4 x 4 "
            "lanes\n");
  for (const char* n : {"64", "200", "1000", "4096"}) {
    EXPECT_EQ(lines(plansOf(normBackward("bf16", "17", n))), 1u);
    EXPECT_EQ(lines(plansOf(normBackward("f32", "M", n), {{"M", 33}})), 1u);
  }
  EXPECT_EQ(lines(plansOf(normBackward("f32", "64", "64"))), 1u);
  EXPECT_EQ(lines(plansOf(normBackward("f32", "M", "96"), {{"M", 0}})), 1u);
}

/// The same of a GELU behind it, whose sum of two inputs is normalised.
std::string activatedBackward(std::string_view m, std::string_view n) {
  return fmt::format(
      R"(graph @g(%x: bf16[{0}, {1}], %r: bf16[{0}, {1}], %dy: bf16[{0}, {1}], %w: bf16[{1}], %mean: f32[{0}]) {{
    %0 = add %x, %r : bf16[{0}, {1}]
    %1 = cast %0 {{synthetic = true}} : f32[{0}, {1}]
    %2 = broadcast %mean {{axes = [0]}} : f32[{0}, {1}]
    %xhat = sub %1, %2 : f32[{0}, {1}]
    %3 = cast %w : f32[{1}]
    %4 = broadcast %3 {{axes = [1]}} : f32[{0}, {1}]
    %5 = mul %xhat, %4 : f32[{0}, {1}]
    %6 = erf %5 : f32[{0}, {1}]
    %7 = cast %dy : f32[{0}, {1}]
    %8 = mul %7, %6 : f32[{0}, {1}]
    %g = mul %8, %4 : f32[{0}, {1}]
    %9 = mul %g, %xhat : f32[{0}, {1}]
    %c = reduce %9 {{kind = mean, axes = [1]}} : f32[{0}]
    %10 = broadcast %c {{axes = [0]}} : f32[{0}, {1}]
    %11 = mul %xhat, %10 : f32[{0}, {1}]
    %12 = sub %g, %11 : f32[{0}, {1}]
    %dx = cast %12 : bf16[{0}, {1}]
    %13 = mul %8, %xhat : f32[{0}, {1}]
    %dw = reduce %13 {{kind = sum, axes = [0]}} : f32[{1}]
    %db = reduce %8 {{kind = sum, axes = [0]}} : f32[{1}]
    return %dx, %dw, %db
  }})",
      m, n);
}

TEST(GpuBothWays, TheNextRowIsLoadedOnceThisOneIsNotWantedAnyMore) {
  EXPECT_EQ(plansOf(activatedBackward("600", "4096")),
            "reduce: registers, 256 threads, 2 x 8 lanes, values kept, next row loaded, 2 blocks, 264 in all, then "
            "columns, 8 threads x 64, 4 x 4 lanes\n");
  for (const char* n : {"64", "256", "2048"})
    EXPECT_NE(plansOf(activatedBackward("M", n), {{"M", 37}}).find("next row loaded"), std::string::npos) << n;
  for (const int64_t rows : {0, 1, 2, 1700})
    EXPECT_NE(plansOf(activatedBackward("M", "128"), {{"M", rows}}).find("next row loaded"), std::string::npos) << rows;
  EXPECT_EQ(plansOf(activatedBackward("100", "257")).find("next row loaded"), std::string::npos);
}

TEST(GpuBothWays, OddRowsOfAThreadBeginAlike) {
  EXPECT_EQ(
      plansOf(normBackward("bf16", "5000", "257")),
      "reduce: registers, 8 threads x 16, 5 x 8 lanes across rows, 2 blocks, 264 in all, then columns, 32 threads x "
      "16, 4 x 1 lanes\n");
  for (const char* n : {"65", "1022"}) {
    EXPECT_EQ(lines(plansOf(normBackward("bf16", "801", n))), 1u);
    EXPECT_EQ(lines(plansOf(normBackward("f16", "19", n))), 1u);
    EXPECT_EQ(lines(plansOf(normBackward("f32", "M", n), {{"M", 533}})), 1u);
  }
  EXPECT_EQ(lines(plansOf(normBackward("bf16", "270", "4095"))), 1u);
  EXPECT_EQ(lines(plansOf(normBackward("f32", "M", "129"), {{"M", 0}})), 1u);
}

TEST(GpuBothWays, FoldsOfDifferentAxesShareOneKernelOfRows) {
  EXPECT_EQ(lines(plansOf(R"(graph @g(%dy: f16[16, 16, 5, 256], %x: f16[16, 16, 5, 256], %w: f32[16, 5]) {
    %0 = cast %dy : f32[16, 16, 5, 256]
    %1 = cast %x : f32[16, 16, 5, 256]
    %2 = broadcast %w {axes = [1, 2]} : f32[16, 16, 5, 256]
    %3 = mul %0, %2 : f32[16, 16, 5, 256]
    %4 = reduce %3 {kind = mean, axes = [2, 3]} : f32[16, 16]
    %5 = mul %3, %1 : f32[16, 16, 5, 256]
    %6 = reduce %5 {kind = mean, axes = [2, 3]} : f32[16, 16]
    %7 = broadcast %4 {axes = [0, 1]} : f32[16, 16, 5, 256]
    %8 = broadcast %6 {axes = [0, 1]} : f32[16, 16, 5, 256]
    %9 = sub %3, %7 : f32[16, 16, 5, 256]
    %10 = mul %1, %8 : f32[16, 16, 5, 256]
    %11 = sub %9, %10 : f32[16, 16, 5, 256]
    %12 = mul %0, %1 : f32[16, 16, 5, 256]
    %13 = reduce %12 {kind = sum, axes = [0, 3]} : f32[16, 5]
    %14 = reduce %0 {kind = sum, axes = [0, 3]} : f32[16, 5]
    return %11, %13, %14
  })")),
            4u)
      << "rows, two small folds and what follows";
}

TEST(GpuBothWays, LongRowsGoTheirOwnWays) {
  EXPECT_GT(lines(plansOf(normBackward("bf16", "3", "20000"))), 1u);
  EXPECT_GT(lines(plansOf(normBackward("bf16", "M", "N"), {{"M", 3}, {"N", 200}})), 1u);
}

TEST(GpuBothWays, ColumnsOfWhatTheRowsGive) {
  EXPECT_EQ(lines(plansOf(R"(graph @g(%x: f32[70, 128]) {
    %0 = softmax %x {axis = 1} : f32[70, 128]
    %1 = reduce %0 {kind = sum, axes = [0]} : f32[128]
    %2 = reduce %0 {kind = max, axes = [0]} : f32[128]
    %3 = mul %1, %2 : f32[128]
    return %0, %3
  })")),
            1u);
}

TEST(GpuBothWays, AnotherKernelInBetween) {
  plansOf(R"(graph @g(%x: f32[70, 128], %w: f32[128, 128]) {
    %0 = softmax %x {axis = 1} : f32[70, 128]
    %1 = matmul %0, %w : f32[70, 128]
    %2 = add %0, %1 : f32[70, 128]
    %3 = reduce %2 {kind = sum, axes = [0]} : f32[128]
    return %0, %3
  })");
}

}  // namespace
}  // namespace tokamak::gpu_plans
