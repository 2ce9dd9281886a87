#include "driver/compile.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "driver/three_ways.h"
#include "graph/interp/evaluate.h"

namespace tokamak {
namespace {

Array randomArray(DType dtype, const std::vector<int64_t>& shape, uint64_t seed) {
  Array a(dtype, shape);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < a.size(); ++i) {
    if (isFloat(dtype))
      a.setDouble(i, normal(random));
    else
      a.setInt(i, dtype == DType::boolean ? static_cast<int64_t>(random() % 2) : static_cast<int64_t>(random() % 7));
  }
  return a;
}

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

void expectClose(const std::vector<Array>& want, const std::vector<Array>& got, const std::string& who) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(want[k].dtype(), got[k].dtype()) << who;
    ASSERT_EQ(want[k].shape(), got[k].shape()) << who;
    const double tolerance = want[k].dtype() == DType::f64 ? 1e-9 : isHalf(want[k].dtype()) ? 2e-2 : 2e-5;
    for (int64_t i = 0; i < want[k].size(); ++i) {
      const double a = want[k].getDouble(i), b = got[k].getDouble(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      ASSERT_LE(std::fabs(a - b), tolerance * (1 + std::fabs(a))) << who << ": output " << k << " element " << i;
    }
  }
}

/// Interpreter, SIMT interpreter and LLVM agree, fused and unfused.
void threeWays(const std::string& text, const DimBindings& dims = {}) {
  SCOPED_TRACE(text);
  auto graph = parseGraph(text);
  ASSERT_TRUE(graph) << graph.error().str();
  std::vector<Array> inputs;
  uint64_t seed = 1;
  for (ValueId v : graph->inputs()) {
    std::vector<int64_t> shape;
    for (const Dim& d : graph->type(v).shape) shape.push_back(*d.eval(dims));
    inputs.push_back(randomArray(graph->type(v).dtype, shape, seed++));
  }
  auto want = evaluate(*graph, inputs);
  ASSERT_TRUE(want) << want.error().str();
  for (bool fuse : {true, false}) {
    auto simt = runSimtGraph(*graph, inputs, engine(), {.fuse = fuse});
    ASSERT_TRUE(simt) << simt.error().str();
    expectClose(*want, *simt, fuse ? "simt" : "simt, unfused");
    auto compiled = runCompiled(*graph, inputs, engine(), {.fuse = fuse});
    ASSERT_TRUE(compiled) << compiled.error().str();
    expectClose(*want, *compiled, fuse ? "compiled" : "compiled, unfused");
  }
}

TEST(Compile, SumOfTwoProductsIsOneEpilogue) {
  threeWays(R"(graph @gram(%x: f32[9, 5]) {
  %0 = transpose %x {perm = [1, 0]} : f32[5, 9]
  %1 = matmul %x, %0 : f32[9, 9]
  %2 = add %x, %x : f32[9, 5]
  %3 = matmul %2, %0 : f32[9, 9]
  %4 = add %1, %3 : f32[9, 9]
  return %4
})");
}

TEST(Compile, AProductWhoseReshapeIsAResultHasNoEpilogue) {
  threeWays(R"(
    graph @linear(%x: f32[4, 7], %w: f32[7, 5], %b: f32[5]) {
      %0 = matmul %x, %w, %b : f32[4, 5]
      %1 = reshape %0 : f32[20]
      %2 = gelu_tanh %1 : f32[20]
      %3 = add %2, %1 : f32[20]
      return %1, %2, %3
    })");
}

/// Whether a library applies what follows the product of this graph.
bool isOneStep(const std::string& text) {
  const auto graph = parseGraph(text);
  TK_CHECK(graph.ok(), graph.ok() ? "" : graph.error().str());
  const auto lowered = lower(*graph, engine(), {});
  TK_CHECK(lowered.ok(), lowered.ok() ? "" : lowered.error().str());
  return lowered->plan.regions.size() == 1;
}

TEST(Compile, LargeActivationsOfProductsAreKernelsOfOurs) {
  if (!engine().library->available()) GTEST_SKIP() << engine().library->available().reason();
  const auto linear = [](const char* type, int rows, const char* activation) {
    return fmt::format(R"(graph @f(%x: {0}[{1}, 64], %w: {0}[64, 128], %b: {0}[128]) {{
        %0 = matmul %x, %w, %b : {0}[{1}, 128]
        %1 = {2} %0 : {0}[{1}, 128]
        return %1
      }})",
                       type, rows, activation);
  };
  for (const char* activation : {"gelu_tanh", "silu"}) {
    EXPECT_FALSE(isOneStep(linear("f32", 1024, activation))) << activation;
    EXPECT_TRUE(isOneStep(linear("f32", 64, activation))) << activation;
    EXPECT_TRUE(isOneStep(linear("bf16", 1024, activation))) << activation;
  }
  // What is applied to tiles in registers.
  const bool inRegisters =
      engine().library->appliesInRegisters(library::MatMulDesc{.postOps = {{library::PostOpKind::relu}}});
  for (const char* activation : {"relu", "gelu"})
    EXPECT_EQ(isOneStep(linear("f32", 1024, activation)), inRegisters) << activation;
  EXPECT_FALSE(isOneStep(R"(graph @f(%x: f32[16, 64, 64], %w: f32[16, 64, 128]) {
      %0 = matmul %x, %w : f32[16, 64, 128]
      %1 = gelu %0 : f32[16, 64, 128]
      return %1
    })"));
}

TEST(Compile, LargeActivationsOfConvolutionsAreKernelsOfOurs) {
  if (!engine().library->available()) GTEST_SKIP() << engine().library->available().reason();
  const auto conv = [](int side, const char* activation) {
    return fmt::format(R"(graph @f(%x: f32[1, {0}, {0}, 8], %w: f32[32, 8, 1, 1]) {{
        %0 = conv %x, %w {{stride = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], channels_last = true}} : f32[1, {0}, {0}, 32]
        %1 = {1} %0 : f32[1, {0}, {0}, 32]
        return %1
      }})",
                       side, activation);
  };
  EXPECT_FALSE(isOneStep(conv(56, "silu")));
  EXPECT_TRUE(isOneStep(conv(14, "silu")));
  const library::ConvDesc desc{.channelsLast = true, .postOps = {{library::PostOpKind::relu}}};
  EXPECT_EQ(isOneStep(conv(56, "relu")), engine().library->appliesInRegisters(desc));
}

TEST(Compile, PointwiseChain) {
  threeWays(R"(graph @f(%x: f32[7, 33], %b: f32[33]) {
    %0 = broadcast %b {axes = [1]} : f32[7, 33]
    %1 = add %x, %0 : f32[7, 33]
    %2 = gelu %1 : f32[7, 33]
    %3 = exp %1 : f32[7, 33]
    return %2, %3
  })");
}

TEST(Compile, SoftmaxAndNorm) {
  threeWays(R"(graph @f(%x: f32[M, 100], %w: f32[100], %b: f32[100]) {
    %0 = softmax %x {axis = 1} : f32[M, 100]
    %1 = norm %0, %w, %b {kind = layer, affine = true} : f32[M, 100]
    return %1
  })",
            {{"M", 5}});
}

TEST(Compile, FoldsOfEveryShape) {
  for (const char* kind : {"sum", "max", "min", "mean", "prod", "argmax", "argmin"})
    for (const char* axes : {"[0]", "[1]", "[2]", "[0, 1]", "[1, 2]", "[0, 2]", "[0, 1, 2]"}) {
      const std::string dims[] = {"3", "20", "37"};
      std::string kept;
      for (int a = 0; a < 3; ++a)
        if (std::string(axes).find(char('0' + a)) == std::string::npos) kept += (kept.empty() ? "" : ", ") + dims[a];
      const std::string type = (kind[0] == 'a' ? "i64[" : "f32[") + kept + "]";
      threeWays("graph @f(%x: f32[3, 20, 37]) {\n %0 = reduce %x {kind = " + std::string(kind) + ", axes = " + axes +
                "} : " + type + "\n return %0\n}");
    }
}

TEST(Compile, LongFoldsInTwoStages) {
  threeWays(
      "graph @f(%x: f32[3, 70001]) {\n %0 = reduce %x {kind = sum, axes = [1]} : f32[3]\n %1 = reduce %x {kind = "
      "argmax, axes = [1]} : i64[3]\n return %0, %1\n}");
  threeWays(
      "graph @f(%x: f32[N]) {\n %0 = mul %x, %x : f32[N]\n %1 = reduce %0 {kind = mean, axes = [0]} : f32[]\n return "
      "%1\n}",
      {{"N", 100003}});
  threeWays(
      "graph @f(%x: f32[1000, 70]) {\n %0 = exp %x : f32[1000, 70]\n %1 = reduce %0 {kind = sum, axes = [0]} : "
      "f32[70]\n %2 = sqrt %1 : f32[70]\n return %2\n}");
  for (const char* columns : {"1033", "C"})  // enough of them that rows are asked for ahead, the last ones past the end
    threeWays(fmt::format("graph @f(%x: f32[261, {0}]) {{\n %0 = mul %x, %x : f32[261, {0}]\n %1 = reduce %0 {{kind = "
                          "sum, axes = [0]}} : f32[{0}]\n return %1\n}}",
                          columns),
              {{"C", 1033}});
}

TEST(Compile, TransposesAndViews) {
  threeWays(R"(graph @f(%x: f32[70, 90], %y: f32[90, 70]) {
    %0 = mul %x, %x : f32[70, 90]
    %1 = transpose %0 {perm = [1, 0]} : f32[90, 70]
    %2 = add %1, %y : f32[90, 70]
    return %2
  })");
  threeWays(R"(graph @f(%x: f32[2, 6, 8, 16]) {
    %0 = transpose %x {perm = [0, 2, 1, 3]} : f32[2, 8, 6, 16]
    %1 = reshape %0 : f32[16, 96]
    %2 = exp %1 : f32[16, 96]
    return %2
  })");
  threeWays(R"(graph @f(%x: f32[5, 12], %y: f32[3, 12]) {
    %0 = concat %x, %y {axis = 0} : f32[8, 12]
    %1 = pad %0 {low = [1, 2], high = [0, -1], value = 1.5} : f32[9, 13]
    %2 = flip %1 {axes = [1]} : f32[9, 13]
    %3 = slice %2 {start = [1, 0], stride = [2, 3]} : f32[4, 5]
    return %3, %2
  })");
}

TEST(Compile, TransposesInTilesOfEveryShape) {
  for (const char* n : {"63", "64", "129", "N"})
    for (const char* dtype : {"f32", "bf16", "f64"})
      threeWays(
          fmt::format("graph @f(%x: {1}[{0}, 70], %y: {1}[3, 70, {0}]) {{\n %0 = transpose %x {{perm = [1, 0]}} : "
                      "{1}[70, {0}]\n %1 = broadcast %0 {{axes = [1, 2]}} : {1}[3, 70, {0}]\n %2 = add %1, %y : "
                      "{1}[3, 70, {0}]\n return %2\n}}",
                      n, dtype),
          {{"N", 131}});
}

/// Large enough that tiles and rows of tables are asked for ahead, the last ones past the end.
TEST(Compile, WhatIsAskedForAheadDoesNotChangeResults) {
  const auto transpose = parseGraph(R"(graph @f(%x: f32[2050, 3100]) {
    %0 = transpose %x {perm = [1, 0]} : f32[3100, 2050]
    return %0
  })");
  const Array x = randomArray(DType::f32, {2050, 3100}, 1);
  const auto transposed = runCompiled(*transpose, {x}, engine(), {});
  ASSERT_TRUE(transposed) << transposed.error().str();
  for (int64_t i = 0; i < 3100; ++i)
    for (int64_t j = 0; j < 2050; ++j)
      ASSERT_EQ((*transposed)[0].as<float>()[i * 2050 + j], x.as<float>()[j * 3100 + i]) << i << ", " << j;

  const auto picks =
      parseGraph(R"(graph @f(%t: f32[9000, 70], %u: f32[3, 9000, 70], %i: i64[37, 2], %s: f32[3, 37, 2, 70]) {
    %0 = index_select %t, %i {axis = 0} : f32[37, 2, 70]
    %1 = broadcast %0 {axes = [1, 2, 3]} : f32[3, 37, 2, 70]
    %2 = index_select %u, %i {axis = 1} : f32[3, 37, 2, 70]
    %3 = mul %1, %2 : f32[3, 37, 2, 70]
    %4 = add %3, %s : f32[3, 37, 2, 70]
    return %4
  })");
  ASSERT_TRUE(picks) << picks.error().str();
  std::vector<Array> inputs = {randomArray(DType::f32, {9000, 70}, 2), randomArray(DType::f32, {3, 9000, 70}, 3),
                               Array(DType::i64, {37, 2}), randomArray(DType::f32, {3, 37, 2, 70}, 4)};
  for (int64_t k = 0; k < 74; ++k) inputs[2].setInt(k, k * 7919 % 9000);
  int64_t last = 70;  // of the rows, with some out of range, which are clamped
  for (int64_t row : {-1, 9000, 1 << 30, -(1 << 30)}) inputs[2].setInt(last++, row);
  const auto want = evaluate(*picks, inputs);
  const auto got = runCompiled(*picks, inputs, engine(), {}), simt = runSimtGraph(*picks, inputs, engine(), {});
  ASSERT_TRUE(want && got && simt);
  expectClose(*want, *got, "compiled");
  expectClose(*want, *simt, "simt");
}

TEST(Compile, AFoldReadAtTwoPlaces) {
  threeWays(R"(graph @shifted(%x: f32[5, 3, 8]) {
    %0 = reduce %x {kind = sum, axes = [1]} : f32[5, 8]
    %1 = slice %0 {start = [0, 4], stride = [1, 1]} : f32[5, 4]
    %2 = pad %1 {low = [0, 0], high = [0, 4], value = 0.0} : f32[5, 8]
    %3 = add %2, %0 : f32[5, 8]
    return %3
  })");
}

TEST(Compile, ScanGatherScatter) {
  threeWays(R"(graph @f(%x: f32[5, 67]) {
    %0 = scan %x {kind = sum, axis = 1} : f32[5, 67]
    %1 = scan %x {kind = max, axis = 0} : f32[5, 67]
    %2 = scan %x {kind = sum, axis = 1, reverse = true} : f32[5, 67]
    %3 = scan %x {kind = argmax, axis = 1} : i64[5, 67]
    return %0, %1, %2, %3
  })");
  threeWays(R"(graph @f(%t: f32[10, 40], %i: i64[6, 2], %s: f32[6, 40], %k: i64[6, 40]) {
    %0 = index_select %t, %i {axis = 0} : f32[6, 2, 40]
    %1 = exp %0 : f32[6, 2, 40]
    %2 = scatter %t, %k, %s {axis = 0, kind = add} : f32[10, 40]
    %3 = gather %t, %k {axis = 0} : f32[6, 40]
    return %1, %2, %3
  })");
}

TEST(Compile, Products) {
  threeWays(R"(graph @f(%x: f32[M, 64], %w: f32[96, 64], %b: f32[96]) {
    %0 = matmul %x, %w, %b {transpose_b = true} : f32[M, 96]
    %1 = gelu %0 : f32[M, 96]
    return %1
  })",
            {{"M", 9}});
  threeWays(R"(graph @f(%x: f32[1, 3, 17, 19], %w: f32[8, 3, 3, 3], %b: f32[8]) {
    %0 = conv %x, %w, %b {stride = [2, 1], low = [1, 1], high = [1, 1], dilation = [1, 1]} : f32[1, 8, 9, 19]
    %1 = relu %0 : f32[1, 8, 9, 19]
    %2 = pool %1 {kind = max, window = [3, 3], stride = [2, 2], low = [1, 1], high = [1, 1], dilation = [1, 1]} : f32[1, 8, 5, 10]
    return %2
  })");
  threeWays(R"(graph @f(%x: i64[3, 4, 5], %w: i64[3, 5, 6]) {
    %0 = matmul %x, %w : i64[3, 4, 6]
    return %0
  })");
}

runtime::TensorRef refTo(const Array& a) {
  return {const_cast<void*>(a.data()), a.dtype(), static_cast<int>(a.shape().size()), a.shape().data(), nullptr};
}

std::vector<Array> arraysOf(const std::vector<runtime::Tensor>& tensors) {
  std::vector<Array> out;
  for (const auto& t : tensors) {
    out.emplace_back(t.dtype(), t.shape());
    std::memcpy(out.back().data(), t.data(), out.back().bytes());
  }
  return out;
}

constexpr const char* kNormGelu = R"(graph @f(%x: f32[M, N], %w: f32[N]) {
  %0 = norm %x, %w {kind = rms, affine = true} : f32[M, N]
  %1 = gelu %0 : f32[M, N]
  return %1
})";

TEST(Compile, OneCompilationServesAHundredSizes) {
  const auto graph = parseGraph(kNormGelu);
  ASSERT_TRUE(graph) << graph.error().str();
  const auto compiled = compile(*graph, engine());
  ASSERT_TRUE(compiled) << compiled.error().str();
  for (int64_t k = 0; k < 100; ++k) {
    const Array x = randomArray(DType::f32, {k % 7, 1 + k}, k), w = randomArray(DType::f32, {1 + k}, k + 1);
    const runtime::TensorRef refs[] = {refTo(x), refTo(w)};
    const auto got = compiled->executable->run(refs);
    ASSERT_TRUE(got) << got.error().str();
    expectClose(*evaluate(*graph, {x, w}), arraysOf(*got), "N = " + std::to_string(1 + k));
  }
}

TEST(Compile, ManyThreadsShareAnExecutable) {
  const auto graph = parseGraph(kNormGelu);
  const auto compiled = compile(*graph, engine());
  ASSERT_TRUE(compiled) << compiled.error().str();
  std::vector<std::thread> threads;
  threads.reserve(4);
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const Array x = randomArray(DType::f32, {5 + t, 40}, t), w = randomArray(DType::f32, {40}, t + 9);
      const runtime::TensorRef refs[] = {refTo(x), refTo(w)};
      const auto first = compiled->executable->run(refs);
      for (int i = 0; first && i < 200; ++i) {
        const auto again = compiled->executable->run(refs);
        if (!again || !(arraysOf(*again) == arraysOf(*first))) ++wrong;
      }
      if (!first) ++wrong;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Compile, ResultsDoNotDependOnThreads) {
  const auto graph = parseGraph(R"(graph @f(%x: f32[300, 700]) {
    %0 = reduce %x {kind = sum, axes = [0, 1]} : f32[]
    %1 = reduce %x {kind = sum, axes = [0]} : f32[700]
    %2 = softmax %x {axis = 1} : f32[300, 700]
    return %0, %1, %2
  })");
  ASSERT_TRUE(graph) << graph.error().str();
  const std::vector<Array> inputs{randomArray(DType::f32, {300, 700}, 3)};
  const Engine one({.threads = 1, .diskCache = false}), two({.threads = 2, .diskCache = false});
  EXPECT_EQ(*runCompiled(*graph, inputs, one), *runCompiled(*graph, inputs, two));
}

TEST(Compile, ChecksWhatOnlyTheSizesTell) {
  auto graph = parseGraph(R"(graph @f(%x: f32[M, 4]) {
    %0 = reshape %x : f32[floordiv(M, 2), 8]
    %1 = exp %0 : f32[floordiv(M, 2), 8]
    return %1
  })");
  ASSERT_TRUE(graph) << graph.error().str();
  auto right = runCompiled(*graph, {randomArray(DType::f32, {6, 4}, 1)}, engine());
  EXPECT_TRUE(right) << right.error().str();
  auto wrong = runCompiled(*graph, {randomArray(DType::f32, {7, 4}, 1)}, engine());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "T0604");
}

}  // namespace
}  // namespace tokamak
