#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

std::string fold(std::string_view kind, std::string_view dtype, std::string_view result, std::string_view rows,
                 std::string_view columns) {
  return fmt::format(R"(graph @g(%x: {1}[{3}, {4}]) {{
    %0 = reduce %x {{kind = {0}, axes = [0]}} : {2}[{4}]
    return %0
  }})",
                     kind, dtype, result, rows, columns);
}

/// Expects the sums of 4096 rows of 8 equal numbers each, two threads side by side and 128 of those down.
void expectSums(const std::function<double(int64_t)>& numberOf, double sum) {
  const std::string program = fold("sum", "f32", "f32", "4096", "8");
  EXPECT_EQ(plansOf(program), "reduce: columns, 2 threads x 128, 4 x 4 lanes\n");
  const auto graph = parseGraph(program);
  ASSERT_TRUE(graph) << graph.error().str();
  Array x(DType::f32, {4096, 8});
  for (int64_t i = 0; i < 4096 * 8; ++i) x.setDouble(i, numberOf(i / 8));
  CompileOptions options;
  options.gpu.emplace();
  const auto sums = runSimtGraph(*graph, {x}, engine(), options);
  ASSERT_TRUE(sums) << sums.error().str();
  for (int64_t column = 0; column < 8; ++column) EXPECT_EQ((*sums)[0].getDouble(column), sum) << column;
}

TEST(GpuColumns, AThreadTakesNeighbouringColumns) {
  EXPECT_EQ(plansOf(fold("sum", "bf16", "bf16", "70", "512")), "reduce: columns, 32 threads x 8, 4 x 8 lanes\n");
  EXPECT_EQ(plansOf(fold("max", "f32", "f32", "300", "33")), "reduce: columns, 32 threads x 8, 16 x 1 lanes\n");
  EXPECT_EQ(plansOf(fold("sum", "f32", "f32", "1000", "8")), "reduce: columns, 2 threads x 128, 4 x 4 lanes\n");
  EXPECT_EQ(plansOf(fold("sum", "f32", "f32", "3", "5000")), "reduce: columns, 32 threads x 4, 4 x 4 lanes\n");
}

TEST(GpuColumns, AThreadIsAloneWithColumnsOfAFewRows) {
  const CompileOptions wide{.hints = {{"N", 1 << 24}}};
  EXPECT_EQ(plansOf(fold("sum", "f32", "f32", "2", "N"), {{"N", 700}}, wide),
            "reduce: columns, 128 threads, 2 x 1 lanes\n");
  plansOf(fold("argmax", "bf16", "i64", "5", "N"), {{"N", 300}}, wide);
}

TEST(GpuColumns, EveryKindOfFold) {
  for (const char* shape : {"1, 7", "5, 64", "130, 129", "600, 12"}) {
    const std::string text(shape);
    const std::string rows = text.substr(0, text.find(',')), columns = text.substr(text.find(',') + 2);
    for (const char* kind : {"sum", "prod", "max", "min", "mean"}) plansOf(fold(kind, "f32", "f32", rows, columns));
    for (const char* kind : {"argmax", "argmin"}) {
      plansOf(fold(kind, "f16", "i64", rows, columns));
      plansOf(fold(kind, "i32", "i64", rows, columns));
    }
    plansOf(fold("any", "bool", "bool", rows, columns));
    plansOf(fold("all", "u8", "bool", rows, columns));
    plansOf(fold("sum", "i16", "i64", rows, columns));
  }
}

TEST(GpuColumns, RowsInFlightAreAddedBeforeTheRunningSumIsTouched) {
  // A half is less than the last digit of what each thread begins with; four of them together are not.
  expectSums([](int64_t row) { return row < 128 ? 0x1p24 : row < 512 ? 0.0 : 0.5; }, 128 * 0x1p24 + 3584 * 0.5);
}

TEST(GpuColumns, JoiningSumsOfF32RoundsOnce) {
  // One thread of 128 finds 2^24, the others a half each, which is less than its last digit.
  expectSums([](int64_t row) { return row == 0 ? 0x1p24 : row < 128 ? 0.5 : 0.0; }, 0x1p24 + 64);
}

TEST(GpuColumns, ManyRowsGoInPieces) {
  EXPECT_EQ(plansOf(fold("sum", "bf16", "bf16", "9000", "40")),
            "reduce: columns, 8 threads x 32, 4 x 8 lanes, pieces of 896, then columns, 32 threads x 4, 4 x 1 lanes\n");
  plansOf(fold("argmax", "f32", "i64", "9001", "33"));
  plansOf(fold("mean", "f32", "f32", "M", "N"), {{"M", 3000}, {"N", 37}}, {.hints = {{"M", 1 << 20}, {"N", 100}}});
}

TEST(GpuColumns, OddRowsAreFoldedSeveralAsOne) {
  EXPECT_EQ(
      plansOf(fold("sum", "bf16", "bf16", "5000", "257")),
      "reduce: columns, 32 threads x 8, 8 rows as one, 4 x 8 lanes, pieces of 128, then columns, 32 threads x 16, 4 "
      "x 1 lanes\n");
  plansOf(fold("max", "f32", "f32", "5004", "129"));
  plansOf(fold("mean", "f16", "f16", "5008", "258"));
  plansOf(fold("sum", "bf16", "bf16", "5003", "257"));
  plansOf(R"(graph @g(%x: f32[4100, 131], %w: f32[131], %s: f32[4100]) {
    %0 = broadcast %w {axes = [1]} : f32[4100, 131]
    %1 = mul %x, %0 : f32[4100, 131]
    %2 = broadcast %s {axes = [0]} : f32[4100, 131]
    %3 = sub %1, %2 : f32[4100, 131]
    %4 = exp %3 : f32[4100, 131]
    %5 = reduce %4 {kind = sum, axes = [0]} : f32[131]
    %6 = reduce %3 {kind = min, axes = [0]} : f32[131]
    return %5, %6
  })");
}

TEST(GpuColumns, SweepsThroughColumns) {
  plansOf(R"(graph @g(%x: bf16[70, 40]) {
    %0 = softmax %x {axis = 0} : bf16[70, 40]
    return %0
  })");
  plansOf(R"(graph @g(%x: f32[5, 70, 41]) {
    %0 = softmax %x {axis = 1} : f32[5, 70, 41]
    return %0
  })");
  plansOf(R"(graph @g(%x: f32[M, N]) {
    %0 = softmax %x {axis = 0} : f32[M, N]
    return %0
  })",
          {{"M", 33}, {"N", 21}});
}

TEST(GpuColumns, StripsSpareTheSecondLaunch) {
  const CompileOptions many{.hints = {{"B", 256}}};
  const char* sum = R"(graph @g(%x: bf16[B, 1100, 64]) {
    %0 = reduce %x {kind = sum, axes = [1]} : bf16[B, 64]
    return %0
  })";
  EXPECT_EQ(plansOf(sum, {{"B", 2}}, many), "reduce: columns, 8 threads x 64, 8 x 8 lanes, 2 blocks\n");
  const CompileOptions few{.hints = {{"B", 30}}};
  EXPECT_NE(plansOf(sum, {{"B", 2}}, few).find("pieces"), std::string::npos);
}

TEST(GpuColumns, ClustersShareOutRows) {
  const CompileOptions many{.hints = {{"B", 64}}}, few{.hints = {{"B", 8}}};
  for (const char* kind : {"sum", "mean", "max", "argmax"}) {
    const bool where = std::string_view(kind) == "argmax";
    const std::string text = fmt::format(R"(graph @g(%x: bf16[B, 8200, 64]) {{
      %0 = reduce %x {{kind = {}, axes = [1]}} : {}[B, 64]
      return %0
    }})",
                                         kind, where ? "i64" : "bf16");
    EXPECT_EQ(plansOf(text, {{"B", 1}}, many), "reduce: columns, 8 threads x 64 of 4 blocks, 8 x 8 lanes\n") << kind;
    EXPECT_NE(plansOf(text, {{"B", 1}}, few).find("pieces"), std::string::npos) << kind;
  }
  const char* moments = R"(graph @g(%x: f32[B, M, 64]) {
    %0 = reduce %x {kind = var, axes = [1], correction = 0} : f32[B, 64]
    %1 = reduce %x {kind = mean, axes = [1]} : f32[B, 64]
    return %0, %1
  })";
  const CompileOptions symbolic{.hints = {{"B", 32}, {"M", 8192}}};
  for (const int64_t rows : {1, 3, 5, 100, 1025, 2500})
    EXPECT_NE(plansOf(moments, {{"B", 1}, {"M", rows}}, symbolic).find("columns, 16 threads x 32 of 8 blocks"),
              std::string::npos)
        << rows;
}

TEST(GpuColumns, ClustersTakeManyBlocksWhereThereAreAndLongRoundsWhereNot) {
  EXPECT_EQ(plansOf(fold("sum", "bf16", "bf16", "M", "4096"), {{"M", 530}}, {.hints = {{"M", 16384}}}),
            "reduce: columns, 16 threads x 32 of 8 blocks, 8 x 8 lanes\n");
  EXPECT_EQ(plansOf(fold("sum", "bf16", "bf16", "M", "1024"), {{"M", 1100}}, {.hints = {{"M", 16384}}}),
            "reduce: columns, 16 threads x 32 of 8 blocks, 32 x 8 lanes, 1 blocks\n");
  plansOf(fold("argmax", "bf16", "i64", "M", "1024"), {{"M", 8200}}, {.hints = {{"M", 16384}}});
  plansOf(fold("any", "bool", "bool", "M", "2048"), {{"M", 700}}, {.hints = {{"M", 16384}}});
  plansOf(fold("max", "f32", "f32", "M", "1024"), {{"M", 3}}, {.hints = {{"M", 16384}}});
}

TEST(GpuColumns, EvenRoundsLoadSomeOfTheNext) {
  const CompileOptions eight{.hints = {{"B", 8}}};
  const auto text = [](const char* kind, const char* result, int64_t rows, int64_t columns) {
    return fmt::format(R"(graph @g(%x: bf16[B, {1}, {3}], %y: bf16[B, {1}, {3}]) {{
      %0 = sub %x, %y : bf16[B, {1}, {3}]
      %1 = reduce %0 {{kind = {0}, axes = [1]}} : {2}[B, {3}]
      return %1
    }})",
                       kind, rows, result, columns);
  };
  const std::string ahead =
      "reduce: columns, 16 threads x 32 of 8 blocks, 12 x 8 lanes, 4 of the next loaded, 1 blocks\n";
  EXPECT_EQ(plansOf(text("sum", "bf16", 10240, 128), {{"B", 1}}, eight), ahead);
  EXPECT_EQ(plansOf(text("var", "bf16", 10240, 128), {{"B", 1}}, eight), ahead);
  EXPECT_EQ(plansOf(text("argmin", "i64", 10240 + 37, 120), {{"B", 1}}, eight), ahead);
  EXPECT_EQ(plansOf(text("sum", "bf16", 10240 + 256, 128), {{"B", 1}}, eight),
            "reduce: columns, 16 threads x 32 of 8 blocks, 32 x 8 lanes, 1 blocks\n");
}

TEST(GpuColumns, NarrowOddRowsGoWhole) {
  EXPECT_EQ(
      plansOf(fold("sum", "bf16", "bf16", "33792", "257")),
      "reduce: columns, 257 threads x 2, 8 rows as one, whole, 8 x 8 lanes, pieces of 16, then columns, 16 threads "
      "x 32, 4 x 1 lanes\n");
  plansOf(fold("max", "f32", "f32", "67584", "33"));
  plansOf(fold("mean", "f16", "f16", "33800", "66"));
  plansOf(fold("sum", "i32", "i64", "67588", "35"));
}

std::string activatedMean(int rows, int columns) {
  return fmt::format(R"(graph @g(%x: bf16[4, {0}, {1}], %s: f32[{1}]) {{
    %0 = cast %x : f32[4, {0}, {1}]
    %1 = broadcast %s {{axes = [2]}} : f32[4, {0}, {1}]
    %2 = mul %0, %1 : f32[4, {0}, {1}]
    %3 = relu %2 : f32[4, {0}, {1}]
    %4 = cast %3 : bf16[4, {0}, {1}]
    %5 = reduce %4 {{kind = mean, axes = [1]}} : bf16[4, {1}]
    return %4, %5
  }})",
                     rows, columns);
}

TEST(GpuColumns, WhatNeedsNoFoldIsStoredOnTheWay) {
  EXPECT_EQ(plansOf(activatedMean(49, 40)), "reduce: columns, 8 threads x 32, 4 x 8 lanes\n");
  EXPECT_EQ(plansOf(activatedMean(3000, 48)),
            "reduce: columns, 8 threads x 32, 4 x 8 lanes, pieces of 256, then columns, 32 threads x 8, 4 x 1 lanes\n");
  plansOf(activatedMean(3000, 41));
  plansOf(activatedMean(0, 8));
}

TEST(GpuColumns, SweepsStoreWhatTheyKnow) {
  plansOf(R"(graph @g(%x: f32[5, 70, 40], %y: f32[5, 70, 40]) {
    %0 = mul %x, %y : f32[5, 70, 40]
    %1 = reduce %0 {kind = max, axes = [1]} : f32[5, 40]
    %2 = broadcast %1 {axes = [0, 2]} : f32[5, 70, 40]
    %3 = sub %0, %2 : f32[5, 70, 40]
    %4 = exp %3 : f32[5, 70, 40]
    %5 = reduce %4 {kind = sum, axes = [1]} : f32[5, 40]
    %6 = broadcast %5 {axes = [0, 2]} : f32[5, 70, 40]
    %7 = div %4, %6 : f32[5, 70, 40]
    return %0, %3, %7, %y, %5
  })");
}

TEST(GpuColumns, SweepsThroughFewLongColumnsGoApart) {
  const std::string plans = plansOf(R"(graph @g(%x: bf16[3000, 32]) {
    %0 = cast %x : f32[3000, 32]
    %1 = reduce %0 {kind = mean, axes = [0]} : f32[32]
    %2 = broadcast %1 {axes = [1]} : f32[3000, 32]
    %3 = sub %0, %2 : f32[3000, 32]
    %4 = mul %3, %3 : f32[3000, 32]
    %5 = reduce %4 {kind = mean, axes = [0]} : f32[32]
    %6 = rsqrt %5 : f32[32]
    %7 = broadcast %6 {axes = [1]} : f32[3000, 32]
    %8 = mul %3, %7 : f32[3000, 32]
    %9 = cast %8 : bf16[3000, 32]
    return %9, %1, %6
  })");
  EXPECT_NE(plans.find("; "), std::string::npos) << plans;
}

}  // namespace
}  // namespace tokamak::gpu_plans
