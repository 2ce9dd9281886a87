#include <fmt/format.h>
#include <gtest/gtest-spi.h>

#include <fstream>
#include <sstream>

#include "codegen/cuda/testing.h"
#include "cuda/simt_compiler.h"
#include "driver/compile_cuda.h"
#include "driver/in_parallel.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "fuzz/shrink.h"
#include "support/sanitized.h"

/// Whole graphs for a GPU without one: programs of launches on the fake device, whose kernels run in the SIMT
/// interpreter, and every kernel through NVRTC.
namespace tokamak {
namespace {

/// Kinds of regions that have no kernels for a GPU yet.
bool isYetToCome(const Diagnostic& error) { return error.code == "T0510"; }

fuzz::RandomGraphOptions withoutProducts() {
  fuzz::RandomGraphOptions options;
  options.products = false;
  return options;
}

std::string complaint(const Graph& graph, uint64_t seed, const Engine& engine) {
  const DimBindings dims = fuzz::randomDims(graph, seed);
  const auto inputs = fuzz::randomInputs(graph, seed, dims);
  const auto compiled = compileCuda(graph, engine, 0, {.fuse = seed % 5 != 0});
  if (!compiled) return isYetToCome(compiled.error()) ? "" : compiled.error().str();
  const auto outputs = runOnDevice(*compiled, inputs);
  if (!outputs) return outputs.error().str();
  const auto same = fuzz::compareOutputs(graph, inputs, *outputs);
  return same ? "" : same.error().str();
}

TEST(CudaGraphs, RandomOnesRunOnTheFakeDevice) {
  const Engine engine = fake::makeEngine();
  for (uint64_t seed = 0; seed < (kSanitized ? 30 : 150); ++seed) {
    const Graph graph = fuzz::randomGraph(seed, withoutProducts());
    const std::string wrong = complaint(graph, seed, engine);
    if (wrong.empty()) continue;
    const Graph small = fuzz::shrink(graph, [&](const Graph& g) { return !complaint(g, seed, engine).empty(); });
    FAIL() << "seed " << seed << "\n" << complaint(small, seed, engine) << "\n" << print(small);
  }
  EXPECT_EQ(fake::cuda().blocks, 0) << "all memory is released";
}

/// Rows picked at indices from 5 on, less 5: what lies outside of the pad has indices of nothing, which nobody checks.
constexpr const char* kPicked = R"(graph @picked(%t: bf16[11, 24], %i: i64[M, 3], %w: bf16[24]) {
  %0 = full {value = 5} : i64[M, 3]
  %1 = sub %i, %0 : i64[M, 3]
  %2 = index_select %t, %1 {axis = 0, checked = true} : bf16[M, 3, 24]
  %3 = norm %2, %w {kind = rms, axes = 1, affine = true} : bf16[M, 3, 24]
  %4 = pad %2 {low = [1, 1, 3], high = [0, 2, 0], value = 0.5} : bf16[M + 1, 6, 27]
  %5 = gather %t, %1 {axis = 1, checked = true} : bf16[M, 3]
  return %3, %4, %5
})";

TEST(CudaGraphs, CheckedIndicesStopKernels) {
  const Engine engine = fake::makeEngine();
  const auto graph = parseGraph(kPicked);
  ASSERT_TRUE(graph) << graph.error().str();
  const auto compiled = compileCuda(*graph, engine, 0, {});
  ASSERT_TRUE(compiled) << compiled.error().str();
  auto inputs = fuzz::randomInputs(*graph, 3, {{"M", 7}});
  for (int64_t i = 0; i < inputs[1].size(); ++i) inputs[1].setInt(i, 5 + i % 11);
  const auto outputs = runOnDevice(*compiled, inputs);
  ASSERT_TRUE(outputs) << outputs.error().str();
  const auto same = fuzz::compareOutputs(*graph, inputs, *outputs);
  EXPECT_TRUE(same) << same.error().str();
  inputs[1].setInt(20, 16);
  static const CompiledCuda& stops = *compiled;
  static const std::vector<Array>& wrong = inputs;
  EXPECT_FATAL_FAILURE((void)runOnDevice(stops, wrong), "T0408");  // the fake device says what its kernels did
}

/// Both forms that matter most: what aligned tensors get, and what any tensor may get.
void expectCompile(const codegen::cuda::Nvrtc& nvrtc, const Lowered& lowered, const std::string& arch) {
  std::vector<const kernel::Kernel*> kernels;
  for (const auto& scheduled : lowered.kernels)
    for (const auto& launch : scheduled->launches) kernels.push_back(&launch.kernel);
  const auto done = forEachInParallel(kernels.size() * 2, [&](size_t i) -> Result<> {
    const bool plain = i % 2 == 0;
    TK_TRY(const auto source, codegen::cuda::emitCuda(*kernels[i / 2], {.narrow = plain, .alignment = plain ? 16 : 1}));
    const auto cubin = nvrtc.compile(source.text, arch, kernels[i / 2]->name);
    if (cubin) return Unit{};
    Diagnostic error = cubin.error();
    error.message += "\n" + source.text + kernel::print(*kernels[i / 2]);
    return error;
  });
  EXPECT_TRUE(done) << done.error().str();
}

TEST(CudaGraphs, KernelsOfRandomOnesCompile) {
  TK_NEEDS_NVRTC(nvrtc);
  const Engine engine({.diskCache = false});
  for (uint64_t seed = 1000; seed < (kSanitized ? 1002 : 1008); ++seed) {
    const Graph graph = fuzz::randomGraph(seed, withoutProducts());
    const auto lowered = lower(graph, engine, {.fuse = seed % 5 != 0, .gpu = schedule::Gpu{}});
    if (!lowered) {
      EXPECT_TRUE(isYetToCome(lowered.error())) << lowered.error().str();
      continue;
    }
    expectCompile(*nvrtc, *lowered, seed % 2 ? "sm_80" : "sm_90a");
  }
}

TEST(CudaGraphs, KernelsThatCheckIndicesCompile) {
  TK_NEEDS_NVRTC(nvrtc);
  const auto lowered = lower(*parseGraph(kPicked), Engine({.diskCache = false}), {.gpu = schedule::Gpu{}});
  ASSERT_TRUE(lowered) << lowered.error().str();
  expectCompile(*nvrtc, *lowered, "sm_90a");
}

TEST(CudaGraphs, KernelsOfExamplesCompile) {
  TK_NEEDS_NVRTC(nvrtc);
  const Engine engine({.diskCache = false});
  for (const char* name : {"gelu", "layer_norm", "layer_norm_primitives", "rms_norm", "softmax"}) {
    std::stringstream text;
    text << std::ifstream(fmt::format("{}/examples/{}.tk", TOKAMAK_SOURCE_DIR, name)).rdbuf();
    const auto graph = parseGraph(text.str(), name);
    ASSERT_TRUE(graph) << graph.error().str();
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const auto lowered = lower(*graph, engine, {.gpu = *gpuOfArch(arch)});
      ASSERT_TRUE(lowered) << lowered.error().str();
      expectCompile(*nvrtc, *lowered, arch);
    }
  }
}

}  // namespace
}  // namespace tokamak
