#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "kernel/kernel.h"

/// Which kernels ask for the lines that they will read.
namespace tokamak {
namespace {

/// The kernel of a fold of f32[4096, 1024] on a processor of this name.
std::string foldOn(const char* cpu, const char* kind, int axis) {
  Engine engine({.threads = 2, .diskCache = false});
  engine.target.cpu = cpu;
  engine.target.vectorBytes = 64;
  const auto graph = parseGraph(fmt::format(
      "graph @f(%x: f32[4096, 1024]) {{\n %0 = reduce %x {{kind = {}, axes = [{}]}} : {}[{}]\n return %0\n}}", kind,
      axis, kind[0] == 'a' ? "i64" : "f32", axis == 0 ? 1024 : 4096));
  TK_CHECK(graph.ok(), graph.ok() ? "" : graph.error().str());
  const auto lowered = lower(*graph, engine, {});
  TK_CHECK(lowered.ok(), lowered.ok() ? "" : lowered.error().str());
  return print(lowered->kernels[0]->launches[0].kernel);
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Fetch, SumsOfRowsAskTheSecondCache) {
  const std::string kernel = foldOn("sapphirerapids", "sum", 1);
  EXPECT_TRUE(has(kernel, "prefetch x[i*1024 + j + 1024]\n")) << kernel;
  EXPECT_TRUE(has(kernel, "prefetch x[i*1024 + j + 1040]\n")) << kernel;
}

/// A processor that follows streams by itself is asked early, for one line of four.
TEST(Fetch, SumsOfRowsAskForAFewLinesEarly) {
  const std::string kernel = foldOn("znver4", "sum", 1);
  EXPECT_TRUE(has(kernel, "prefetch x[i*1024 + j + 4096]\n")) << kernel;
  EXPECT_FALSE(has(kernel, "prefetch x[i*1024 + j + 4112]\n")) << kernel;
}

/// One that reads best where every line is asked for, and further ahead than elsewhere.
TEST(Fetch, FoldsOfRowsAskFurtherAheadOnAZen5) {
  EXPECT_TRUE(has(foldOn("znver5", "sum", 1), "prefetch x[i*1024 + j + 2048]\n"));
  EXPECT_TRUE(has(foldOn("znver5", "sum", 1), "prefetch x[i*1024 + j + 2064]\n"));
  EXPECT_TRUE(has(foldOn("znver5", "max", 1), "prefetch x[i*1024 + j + 2048] near\n"));
}

TEST(Fetch, DearerFoldsOfRowsAskTheFirstCacheOrNone) {
  for (const char* kind : {"argmax", "max"}) {
    EXPECT_TRUE(has(foldOn("sapphirerapids", kind, 1), "prefetch x[i*1024 + j + 1024] near\n"));
    EXPECT_FALSE(has(foldOn("znver4", kind, 1), "prefetch"));
  }
}

TEST(Fetch, SumsOfColumnsAskForTheNextRows) {
  const std::string kernel = foldOn("znver4", "sum", 0);
  EXPECT_TRUE(has(kernel, "prefetch x[(r + 8)*1024 + j_1]\n")) << kernel;
  EXPECT_TRUE(has(kernel, "prefetch x[(r + 15)*1024 + j_1 + 16]\n")) << kernel;
}

/// The only kernel of a graph on two threads of a machine with wide registers.
std::string kernelOf(const std::string& text) {
  Engine engine({.threads = 2, .diskCache = false});
  engine.target.vectorBytes = 64;
  const auto graph = parseGraph(text);
  TK_CHECK(graph.ok(), graph.ok() ? "" : graph.error().str());
  const auto lowered = lower(*graph, engine, {});
  TK_CHECK(lowered.ok() && lowered->kernels.size() == 1, text);
  return print(lowered->kernels[0]->launches[0].kernel);
}

TEST(Fetch, LargeTablesAreAskedForSomeRowsAhead) {
  auto pick = [](int rows) {
    return kernelOf(fmt::format(
        "graph @f(%t: f32[{}, 512], %i: i64[4096]) {{\n %0 = index_select %t, %i {{axis = 0}} : f32[4096, 512]\n %1 = "
        "neg %0 : f32[4096, 512]\n return %1\n}}",
        rows));
  };
  const std::string kernel = pick(32000);
  EXPECT_TRUE(has(kernel, "let ahead: i64 = min(i_1 + 8, 4095)\n")) << kernel;
  EXPECT_TRUE(has(kernel, "load i[ahead]")) << kernel;
  EXPECT_TRUE(has(kernel, "prefetch t[j + row*512]\n")) << kernel;
  EXPECT_FALSE(has(pick(100), "prefetch"));
}

TEST(Fetch, TransposesAskForTheNextTile) {
  auto transpose = [](int n) {
    return kernelOf(
        fmt::format("graph @f(%x: f32[{0}, {0}]) {{\n %0 = transpose %x {{perm = [1, 0]}} : f32[{0}, {0}]\n "
                    "return %0\n}}",
                    n));
  };
  const std::string kernel = transpose(4096);
  EXPECT_TRUE(has(kernel, "let next: i64 = min(t + 1, 4095)\n")) << kernel;
  EXPECT_TRUE(has(kernel, "prefetch x[from_1 + (from + s)*4096 + 48]\n")) << kernel;
  EXPECT_FALSE(has(transpose(256), "prefetch"));
}

TEST(Fetch, OneRowOfHalvesAgainstAMatrixIsAStream) {
  auto decode = [](const char* cpu) {
    Engine engine({.threads = 2, .diskCache = false});
    engine.target.cpu = cpu;
    const auto graph = parseGraph(
        "graph @f(%x: bf16[1, 4096], %w: bf16[1024, 4096]) {\n %0 = matmul %x, %w {transpose_b = true} : bf16[1, "
        "1024]\n return %0\n}");
    return print(lower(*graph, engine, {}).value().kernels[0]->launches[0].kernel);
  };
  EXPECT_FALSE(has(decode("znver4"), "prefetch"));
  EXPECT_TRUE(has(decode("sapphirerapids"), "prefetch w["));
}

/// A prefetch behind a store waits for it where their addresses agree in the last twelve bits, as those of rows do.
TEST(Fetch, NormsAskForTheNextRowBeforeTheyStore) {
  const std::string kernel = kernelOf(R"(graph @f(%x: bf16[8192, 4096]) {
    %0 = norm %x {kind = rms} : bf16[8192, 4096]
    return %0
  })");
  EXPECT_LT(kernel.find("prefetch x["), kernel.find("store ")) << kernel;
  EXPECT_TRUE(has(kernel, "prefetch x[j_1 + i*4096 + 4224]\n")) << kernel;
}

}  // namespace
}  // namespace tokamak
