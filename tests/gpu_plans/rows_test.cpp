#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

std::string softmax(std::string_view dtype, std::string_view rows, std::string_view columns) {
  return fmt::format(R"(graph @g(%x: {0}[{1}, {2}]) {{
    %0 = softmax %x {{axis = 1}} : {0}[{1}, {2}]
    return %0
  }})",
                     dtype, rows, columns);
}

std::string layerNorm(std::string_view dtype, std::string_view rows, std::string_view columns) {
  return fmt::format(R"(graph @g(%x: {0}[{1}, {2}], %w: {0}[{2}], %b: {0}[{2}]) {{
    %0 = norm %x, %w, %b {{kind = layer, axes = 1, eps = 1e-05, affine = true}} : {0}[{1}, {2}]
    return %0
  }})",
                     dtype, rows, columns);
}

std::string fold(std::string_view kind, std::string_view dtype, std::string_view result, std::string_view rows,
                 std::string_view columns) {
  return fmt::format(R"(graph @g(%x: {1}[{3}, {4}]) {{
    %0 = reduce %x {{kind = {0}, axes = [1]}} : {2}[{3}]
    return %0
  }})",
                     kind, dtype, result, rows, columns);
}

TEST(GpuRows, SeveralShortRowsShareAWarp) {
  EXPECT_EQ(plansOf(softmax("f32", "9", "4")),
            "reduce: registers, 1 threads x 32, 1 x 4 lanes, values kept, 32 blocks\n");
  EXPECT_EQ(plansOf(softmax("bf16", "37", "64")),
            "reduce: registers, 4 threads x 8, 2 x 8 lanes, values kept, 32 blocks\n");
  EXPECT_EQ(plansOf(layerNorm("bf16", "5", "256")), "reduce: registers, 16 threads x 2, 2 x 8 lanes, 32 blocks\n");
}

TEST(GpuRows, FoldsOfShortRowsAreTakenManyAtOnce) {
  const CompileOptions many{.hints = {{"M", 1 << 24}}};
  EXPECT_EQ(plansOf(fold("sum", "bf16", "bf16", "M", "2"), {{"M", 1500}}, many),
            "reduce: registers, 1 threads x 128 x 8 rows each, 1 x 2 lanes, 8 blocks\n");
  EXPECT_EQ(plansOf(fold("argmax", "f32", "i64", "M", "64"), {{"M", 130}}, many),
            "reduce: registers, 8 threads x 16 x 4 rows each, 2 x 4 lanes, 8 blocks\n");
  plansOf(fold("argmin", "bf16", "i64", "M", "257"), {{"M", 33}}, many);
  plansOf(fold("sum", "f32", "f32", "M", "1000"), {{"M", 7}}, many);
  plansOf(fold("max", "f32", "f32", "M", "2"), {{"M", 0}}, many);
}

TEST(GpuRows, AWarpOrABlockTakesARow) {
  EXPECT_EQ(plansOf(layerNorm("bf16", "5", "1024")), "reduce: registers, 64 threads, 2 x 8 lanes, 16 blocks\n");
  EXPECT_EQ(plansOf(layerNorm("bf16", "3", "4096")), "reduce: registers, 128 threads, 4 x 8 lanes, 7 blocks\n");
  EXPECT_EQ(plansOf(softmax("f32", "2", "5000")), "reduce: registers, 192 threads, 7 x 4 lanes, 5 blocks\n");
}

/// The vectors at an odd row's borders are loaded whole where all of them lie in the tensor: what they hold of the rows
/// beside it must not be seen.
TEST(GpuRows, OddRowsDoNotSeeTheirNeighbours) {
  for (const auto& text : {layerNorm("bf16", "8", "257"), softmax("bf16", "8", "257"), softmax("f32", "4", "1023"),
                           fold("argmax", "bf16", "i64", "8", "257"), layerNorm("bf16", "8", "30001")}) {
    const auto graph = parseGraph(text);
    ASSERT_TRUE(graph) << graph.error().str();
    auto inputs = fuzz::randomInputs(*graph, 3, {});
    const int64_t columns = *graph->type(graph->inputs()[0]).shape[1].constant();
    for (int64_t row = 1; row < *graph->type(graph->inputs()[0]).shape[0].constant(); row += 2)
      for (int64_t c = 0; c < columns; ++c) inputs[0].setDouble(row * columns + c, c % 2 ? NAN : INFINITY);
    CompileOptions options;
    options.gpu.emplace();
    const auto outputs = runSimtGraph(*graph, inputs, engine(), options);
    ASSERT_TRUE(outputs) << outputs.error().str();
    const auto same = fuzz::compareOutputs(*graph, inputs, *outputs);
    EXPECT_TRUE(same) << text << same.error().str();
  }
}

TEST(GpuRows, WhatStandsForInputsIsKeptInsteadOfThem) {
  const auto text = [](std::string_view a, std::string_view b, std::string_view columns) {
    return fmt::format(R"(graph @g(%x: {0}[37, {2}], %r: {1}[37, {2}], %w: f32[{2}], %b: f32[{2}]) {{
      %0 = cast %x : f32[37, {2}]
      %1 = cast %r : f32[37, {2}]
      %2 = add %0, %1 : f32[37, {2}]
      %3 = norm %2, %w, %b {{kind = layer, axes = 1, eps = 1e-05, affine = true}} : f32[37, {2}]
      %4 = gelu %3 : f32[37, {2}]
      %5 = mul %4, %0 : f32[37, {2}]
      return %{3}
    }})",
                       a, b, columns, a == b ? "4" : "5, %2");
  };
  for (const char* columns : {"64", "257", "4096"}) {
    plansOf(text("bf16", "bf16", columns));
    plansOf(text("f32", "f32", columns));
    plansOf(text("f16", "f32", columns));  // and one of the inputs is wanted for itself
  }
}

TEST(GpuRows, LongRowsAreSweptAgain) {
  EXPECT_EQ(plansOf(layerNorm("bf16", "M", "30000"), {{"M", 2}}),
            "reduce: sweeps, 480 threads, 1 x 8 lanes, 2 blocks\n");
  EXPECT_EQ(plansOf(layerNorm("bf16", "2", "25600")), "reduce: sweeps, 320 threads, 2 x 8 lanes, 2 blocks\n");
  EXPECT_EQ(plansOf(layerNorm("bf16", "2", "20480")), "reduce: sweeps, 320 threads, 4 x 8 lanes, 2 blocks\n");
  plansOf(softmax("f32", "2", "33000"));
}

TEST(GpuRows, LongerRowsAreHeldByClusters) {
  const CompileOptions many{.hints = {{"M", 2048}}};
  EXPECT_EQ(plansOf(layerNorm("bf16", "M", "65536"), {{"M", 2}}, many),
            "reduce: registers, 256 threads of 4 blocks, 8 x 8 lanes, 4 blocks\n");
  EXPECT_EQ(plansOf(softmax("f32", "M", "50000"), {{"M", 3}}, many),
            "reduce: registers, 224 threads of 8 blocks, 7 x 4 lanes, 4 blocks\n");
  // Odd rows, positions, and results of rows beside those of elements.
  plansOf(softmax("bf16", "M", "65537"), {{"M", 3}}, many);
  plansOf(R"(graph @g(%x: f32[M, 40000]) {
    %0 = reduce %x {kind = argmax, axes = [1]} : i64[M]
    %1 = reduce %x {kind = max, axes = [1]} : f32[M]
    %2 = broadcast %1 {axes = [0]} : f32[M, 40000]
    %3 = sub %x, %2 : f32[M, 40000]
    return %0, %1, %3
  })",
          {{"M", 3}}, many);
  plansOf(layerNorm("bf16", "M", "65536"), {{"M", 0}}, many);
}

TEST(GpuRows, FewLongRowsGoInPieces) {
  EXPECT_EQ(
      plansOf(fold("sum", "f32", "f32", "2", "200000")),
      "reduce: sweeps, 256 threads, 8 x 4 lanes, 4 blocks, pieces of 32768, then sweeps, 32 threads, 1 x 1 lanes\n");
  plansOf(fold("argmax", "bf16", "i64", "3", "150001"));
  plansOf(fold("max", "f32", "f32", "M", "N"), {{"M", 3}, {"N", 70001}}, {.hints = {{"M", 1}, {"N", 1 << 20}}});
  plansOf(fold("argmin", "i32", "i64", "M", "N"), {{"M", 2}, {"N", 40000}}, {.hints = {{"M", 1}, {"N", 1 << 20}}});
  plansOf(layerNorm("bf16", "2", "131072"));
}

TEST(GpuRows, SweepsOfFewLongRowsGoApart) {
  const std::string plans = plansOf(softmax("bf16", "18", "N"), {{"N", 66000}}, {.hints = {{"N", 66000}}});
  EXPECT_NE(plans.find("; "), std::string::npos) << plans;
}

TEST(GpuRows, OddRowsAreReadAtTheBordersOfMemory) {
  EXPECT_EQ(plansOf(softmax("bf16", "7", "4095")),
            "reduce: registers, 96 threads, 6 x 8 lanes across rows, 10 blocks\n");
  for (int64_t n : {17, 33, 100, 257, 1025}) {
    plansOf(softmax("bf16", "19", std::to_string(n)));
    plansOf(layerNorm("f32", "6", std::to_string(n)));
    plansOf(fold("argmax", "bf16", "i64", "11", std::to_string(n)));
  }
  plansOf(softmax("f32", "3", "40001"));
}

TEST(GpuRows, RowsOfAnySize) {
  for (int64_t n : {0, 1, 5, 31, 64, 1000})
    for (int64_t m : {0, 1, 7}) {
      plansOf(softmax("bf16", "M", "N"), {{"M", m}, {"N", n}}, {.hints = {{"M", 100000}, {"N", 1000}}});
      plansOf(layerNorm("f32", "M", "96"), {{"M", m}}, {.hints = {{"M", 100000}}});
      plansOf(fold("sum", "f32", "f32", "M", "N"), {{"M", m}, {"N", n}});
    }
}

TEST(GpuRows, EveryKindOfFold) {
  for (const char* shape : {"7, 3", "5, 64", "3, 129", "2, 3000"}) {
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

TEST(GpuRows, FoldsOfSeveralAxes) {
  plansOf(R"(graph @g(%x: f32[5, 3, 4, 8]) {
    %0 = reduce %x {kind = sum, axes = [0, 2, 3]} : f32[3]
    %1 = reduce %x {kind = max, axes = [1, 3]} : f32[5, 4]
    %2 = reduce %x {kind = argmin, axes = [0, 1, 2, 3]} : i64[]
    return %0, %1, %2
  })");
  plansOf(R"(graph @g(%x: f32[6, 10, 9, 7], %w: f32[10], %b: f32[10]) {
    %0 = norm %x, %w, %b {kind = group, groups = 5, eps = 1e-05, affine = true} : f32[6, 10, 9, 7]
    return %0
  })");
}

}  // namespace
}  // namespace tokamak::gpu_plans
