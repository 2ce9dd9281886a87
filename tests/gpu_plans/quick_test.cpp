#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

/// Which regions of a program may compute functions quickly.
namespace tokamak::gpu_plans {
namespace {

std::vector<bool> quickRegions(std::string_view program) {
  const auto graph = parseGraph(program);
  EXPECT_TRUE(graph) << graph.error().str();
  CompileOptions options{.library = false};
  options.gpu.emplace();
  const auto lowered = lower(*graph, engine(), options);
  EXPECT_TRUE(lowered) << lowered.error().str();
  std::vector<bool> out;
  for (const auto& kernel : lowered->kernels) out.push_back(kernel->halves);
  return out;
}

TEST(GpuQuick, ProgramsThatGiveHalvesAreQuickThroughout) {
  EXPECT_EQ(quickRegions(R"(graph @g(%x: bf16[64, 64], %y: bf16[64, 64]) {
    %0 = cast %x : f32[64, 64]
    %1 = erf %0 : f32[64, 64]
    %2 = reduce %1 {kind = sum, axes = [0, 1]} : f32[]
    %3 = cast %2 : bf16[]
    return %3
  })"),
            std::vector<bool>{true});
}

TEST(GpuQuick, ResultsInF32AreExact) {
  EXPECT_EQ(quickRegions(R"(graph @g(%x: f32[64, 64]) {
    %0 = norm %x {kind = layer, axes = 1, eps = 1e-05, affine = false} : f32[64, 64]
    return %0
  })"),
            std::vector<bool>{false});
  EXPECT_EQ(quickRegions(R"(graph @g(%x: bf16[64, 64]) {
    %0 = cast %x : f32[64, 64]
    %1 = exp %0 : f32[64, 64]
    %2 = reduce %1 {kind = sum, axes = [1]} : f32[64]
    %3 = cast %1 : bf16[64, 64]
    return %2, %3
  })"),
            std::vector<bool>{false});
  EXPECT_EQ(quickRegions(R"(graph @g(%x: f32[64]) {
    %0 = exp %x : f32[64]
    %1 = sigmoid %x : f32[64]
    %2 = lt %0, %1 : bool[64]
    return %2
  })"),
            std::vector<bool>{false});
}

TEST(GpuQuick, MeansOfRowsAreExactBesideQuickFunctions) {
  constexpr const char* kGelu = R"(graph @g(%x: bf16[64, 64]) {{
    %0 = cast %x : f32[64, 64]
    %1 = reduce %0 {{kind = mean, axes = [{0}]}} : f32[64]
    %2 = broadcast %1 {{axes = [{1}]}} : f32[64, 64]
    %3 = sub %0, %2 : f32[64, 64]
    %4 = erf %3 : f32[64, 64]
    %5 = cast %4 : bf16[64, 64]
    return %1, %5
  }})";
  EXPECT_EQ(quickRegions(fmt::format(kGelu, 1, 0)), std::vector<bool>{true});
  EXPECT_EQ(quickRegions(fmt::format(kGelu, 0, 1)), std::vector<bool>{false});
}

TEST(GpuQuick, SumsInF32NeedNoExactFunctionsBesideThem) {
  EXPECT_EQ(quickRegions(R"(graph @g(%x: bf16[64, 64]) {
    %0 = cast %x : f32[64, 64]
    %1 = reduce %0 {kind = sum, axes = [1]} : f32[64]
    %2 = exp %x : bf16[64, 64]
    return %1, %2
  })"),
            std::vector<bool>{true});
}

}  // namespace
}  // namespace tokamak::gpu_plans
