#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/compile.h"
#include "kernel/kernel.h"

/// Which folds ask for the lines that they will read.
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
  for (const char* cpu : {"znver4", "sapphirerapids"}) {
    const std::string kernel = foldOn(cpu, "sum", 1);
    EXPECT_TRUE(has(kernel, "prefetch x[i*1024 + j + 1024]\n")) << kernel;
  }
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

}  // namespace
}  // namespace tokamak
