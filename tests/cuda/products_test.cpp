#include <fmt/format.h>

#include "cuda/simt_compiler.h"
#include "driver/compile_cuda.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"

/// Matrix products on the fake device by the fake cuBLASLt: order of operands, transposition, batches and epilogues.
namespace tokamak {
namespace {

class CudaProducts : public testing::Test {
 protected:
  /// What the ledger says of the regions of a program that runs right, a line each.
  std::string schedulesOf(std::string_view text, const CompileOptions& options = {}) {
    const auto graph = parseGraph(text);
    EXPECT_TRUE(graph) << graph.error().str();
    const auto compiled = compileCuda(*graph, engine_, 0, options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().str());
    if (!compiled) return {};
    const DimBindings dims = fuzz::randomDims(*graph, 3);
    const auto inputs = fuzz::randomInputs(*graph, 3, dims);
    const auto outputs = runOnDevice(*compiled, inputs);
    EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().str());
    if (!outputs) return {};
    const auto same = fuzz::compareOutputs(*graph, inputs, *outputs);
    EXPECT_TRUE(same) << (same ? "" : same.error().str());
    std::string out;
    for (const LedgerRegion& region : compiled->explanation.ledger.regions) out += region.schedule + "\n";
    return out;
  }

  const Engine engine_ = fake::makeEngine();
};

constexpr const char* kLibrary = "cuBLASLt 13.1.0\n";

TEST_F(CudaProducts, AnyTransposition) {
  EXPECT_EQ(schedulesOf(R"(graph @g(%a: f32[M, 5], %b: f32[5, 7], %at: f32[5, M], %bt: f32[7, 5], %bias: f32[7]) {
    %0 = matmul %a, %b : f32[M, 7]
    %1 = matmul %a, %bt {transpose_b = true} : f32[M, 7]
    %2 = matmul %at, %b, %bias {transpose_a = true} : f32[M, 7]
    %3 = matmul %at, %bt {transpose_a = true, transpose_b = true} : f32[M, 7]
    return %0, %1, %2, %3
  })"),
            std::string(kLibrary) + kLibrary + kLibrary + kLibrary);
}

TEST_F(CudaProducts, BatchesAndSharedMatrices) {
  EXPECT_EQ(schedulesOf(R"(graph @g(%a: bf16[2, 3, 4, 5], %b: bf16[2, 3, 5, 6], %w: bf16[6, 5], %at: bf16[2, 5, 4]) {
    %0 = matmul %a, %b : bf16[2, 3, 4, 6]
    %1 = matmul %a, %w {transpose_b = true} : bf16[2, 3, 4, 6]
    %2 = matmul %at, %w {transpose_a = true, transpose_b = true} : bf16[2, 4, 6]
    return %0, %1, %2
  })"),
            std::string(kLibrary) + kLibrary + kLibrary);
}

TEST_F(CudaProducts, EpiloguesThatTheLibraryHas) {
  EXPECT_EQ(schedulesOf(R"(graph @g(%a: f32[M, 8], %w: f32[6, 8], %bias: f32[6], %r: f32[M, 6]) {
    %0 = matmul %a, %w, %bias {transpose_b = true} : f32[M, 6]
    %1 = add %0, %r : f32[M, 6]
    %2 = relu %1 : f32[M, 6]
    return %2
  })"),
            kLibrary);
  EXPECT_EQ(schedulesOf(R"(graph @g(%a: f32[M, 8], %w: f32[6, 8], %bias: f32[6]) {
    %0 = matmul %a, %w, %bias {transpose_b = true} : f32[M, 6]
    %1 = gelu_tanh %0 : f32[M, 6]
    return %1
  })"),
            kLibrary);
}

TEST_F(CudaProducts, OverNoElements) {
  EXPECT_EQ(
      schedulesOf(R"(graph @g(%a: f32[2, 3, 0], %b: f32[2, 0, 5], %w: f32[6, 0], %bias: f32[6], %r: f32[2, 3, 6]) {
    %0 = matmul %a, %b : f32[2, 3, 5]
    %1 = matmul %a, %w, %bias {transpose_b = true} : f32[2, 3, 6]
    %2 = add %1, %r : f32[2, 3, 6]
    return %0, %2
  })"),
      std::string(kLibrary) + kLibrary);
}

TEST_F(CudaProducts, WhatItHasNotIsAKernelOfItsOwn) {
  for (const char* after : {"gelu", "silu", "exp"}) {
    const std::string text = fmt::format(R"(graph @g(%a: f32[M, 8], %w: f32[6, 8], %bias: f32[6]) {{
      %0 = matmul %a, %w, %bias {{transpose_b = true}} : f32[M, 6]
      %1 = {} %0 : f32[M, 6]
      return %1
    }})",
                                         after);
    const std::string schedules = schedulesOf(text);
    EXPECT_TRUE(schedules.starts_with(std::string(kLibrary) + "pointwise")) << after << ": " << schedules;
  }
}

/// As PyTorch programs in halves write it: every op is rounded by nobody.
TEST_F(CudaProducts, GeluByItsFormulaInHalves) {
  const std::string text = R"(graph @g(%a: bf16[M, 8], %w: bf16[6, 8], %bias: bf16[6]) {
    %0 = matmul %a, %w, %bias {transpose_b = true} : bf16[M, 6]
    %1 = cast %0 {synthetic = true} : f32[M, 6]
    %2 = full {value = 0.5} : f32[M, 6]
    %3 = mul %1, %2 : f32[M, 6]
    %4 = cast %3 {synthetic = true} : bf16[M, 6]
    %5 = mul %1, %1 : f32[M, 6]
    %6 = mul %5, %1 : f32[M, 6]
    %7 = full {value = 0.044715} : f32[M, 6]
    %8 = mul %6, %7 : f32[M, 6]
    %9 = cast %8 {synthetic = true} : bf16[M, 6]
    %10 = add %0, %9 : bf16[M, 6]
    %11 = cast %10 {synthetic = true} : f32[M, 6]
    %12 = full {value = 0.7978845608028654} : f32[M, 6]
    %13 = mul %11, %12 : f32[M, 6]
    %14 = cast %13 {synthetic = true} : bf16[M, 6]
    %15 = tanh %14 : bf16[M, 6]
    %16 = cast %15 {synthetic = true} : f32[M, 6]
    %17 = full {value = 1.0} : f32[M, 6]
    %18 = add %16, %17 : f32[M, 6]
    %19 = cast %18 {synthetic = true} : bf16[M, 6]
    %20 = mul %4, %19 : bf16[M, 6]
    return %20
  })";
  EXPECT_EQ(schedulesOf(text), kLibrary);
  std::string rounded = text;  // where the program asks for it
  const std::string cast = "%15 = tanh %14 : bf16[M, 6]\n    %16 = cast %15 {synthetic = true} : f32[M, 6]";
  rounded.replace(rounded.find(cast), cast.size(), "%15 = tanh %14 : bf16[M, 6]\n    %16 = cast %15 : f32[M, 6]");
  EXPECT_TRUE(schedulesOf(rounded).starts_with(std::string(kLibrary) + "pointwise"));
}

/// The fake library wants 768 bytes for sums of more than four terms, where it may have them.
TEST_F(CudaProducts, ScratchIsWhatTheAlgorithmWants) {
  const auto scratch = [&](const std::string& rows, int depth, const DimBindings& hints) -> int64_t {
    const auto graph = parseGraph(fmt::format(R"(graph @g(%a: f32[{0}, {1}], %b: f32[{1}, 7]) {{
      %0 = matmul %a, %b : f32[{0}, 7]
      return %0
    }})",
                                              rows, depth));
    CompileOptions options;
    options.hints = hints;
    const auto compiled = compileCuda(*graph, engine_, 0, options);
    EXPECT_TRUE(compiled);
    const DimBindings dims{{"M", 3}};
    const auto inputs = fuzz::randomInputs(*graph, 3, dims);
    EXPECT_TRUE(runOnDevice(*compiled, inputs));
    const auto given = copyToDevice(compiled->device, inputs);
    EXPECT_TRUE(given);
    std::vector<runtime::TensorRef> refs;
    for (const auto& tensor : *given) refs.push_back(tensor.ref());
    return compiled->executable->memory(refs)->peakBytes;
  };
  EXPECT_EQ(scratch("3", 4, {}), 0);
  EXPECT_EQ(scratch("3", 8, {}), 768);
  EXPECT_EQ(scratch("M", 8, {{"M", 5}}), 768);
  EXPECT_EQ(scratch("M", 4, {{"M", 5}}), 0);
  EXPECT_EQ(scratch("M", 4, {}), library::kDeviceWorkspaceBytes);
}

TEST_F(CudaProducts, ActivationsComeLast) {
  const std::string schedules = schedulesOf(R"(graph @g(%a: f32[M, 8], %w: f32[6, 8], %r: f32[M, 6]) {
    %0 = matmul %a, %w {transpose_b = true} : f32[M, 6]
    %1 = relu %0 : f32[M, 6]
    %2 = add %1, %r : f32[M, 6]
    return %2
  })");
  EXPECT_TRUE(schedules.starts_with(std::string(kLibrary) + "pointwise")) << schedules;
}

}  // namespace
}  // namespace tokamak
