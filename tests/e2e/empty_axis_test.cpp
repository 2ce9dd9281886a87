#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "driver/three_ways.h"
#include "graph/interp/evaluate.h"
#include "passes/pipeline.h"

/// A symbolic axis may turn out to be empty: results are those of eager PyTorch.
namespace tokamak {
namespace {

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

Graph parsed(const std::string& text) {
  auto graph = parseGraph(text);
  EXPECT_TRUE(graph) << graph.error().str();
  return graph ? *graph : Graph{};
}

using Way = std::pair<std::string, Result<std::vector<Array>>>;

/// The reference, the reference after all passes, the SIMT interpreter and the compiled graph.
std::vector<Way> everyWay(const Graph& graph, const std::vector<Array>& inputs) {
  std::vector<Way> ways;
  ways.emplace_back("reference", evaluate(graph, inputs));
  Graph primitives = graph;
  const auto rewritten = runPipeline(primitives);
  EXPECT_TRUE(rewritten) << rewritten.error().str();
  ways.emplace_back("passes", evaluate(primitives, inputs));
  ways.emplace_back("SIMT", runSimtGraph(graph, inputs, engine()));
  ways.emplace_back("compiled", runCompiled(graph, inputs, engine()));
  return ways;
}

/// One output of `want` everywhere, of this shape.
void expectAll(const std::string& text, const std::vector<Array>& inputs, const std::vector<int64_t>& shape,
               double want) {
  for (const auto& [who, outputs] : everyWay(parsed(text), inputs)) {
    ASSERT_TRUE(outputs) << who << ": " << outputs.error().str() << "\n" << text;
    const Array& out = (*outputs)[0];
    EXPECT_EQ(out.shape(), shape) << who << "\n" << text;
    for (int64_t i = 0; i < out.size(); ++i)
      EXPECT_TRUE(out.getDouble(i) == want || (std::isnan(want) && std::isnan(out.getDouble(i))))
          << who << ": " << out.getDouble(i) << "\n"
          << text;
  }
}

std::string unary(const std::string& statement, const std::string& result, const std::string& input = "f32[3, N]") {
  return "graph @g(%x: " + input + ") {\n  %0 = " + statement + " : " + result + "\n  return %0\n}\n";
}

TEST(EmptyAxis, CompositesGiveNothing) {
  const std::vector<Array> x{Array(DType::f32, {3, 0})};
  for (const char* op :
       {"softmax %x {axis = 1}", "softmax %x {axis = 1, log = true}", "norm %x {kind = layer}", "norm %x {kind = rms}"})
    expectAll(unary(op, "f32[3, N]"), x, {3, 0}, 0);
  expectAll(unary("softmax %x {axis = 0}", "f32[N, 3]", "f32[N, 3]"), {Array(DType::f32, {0, 3})}, {0, 3}, 0);
  expectAll(unary("norm %x {kind = batch}", "f32[N, 3, 2]", "f32[N, 3, 2]"), {Array(DType::f32, {0, 3, 2})}, {0, 3, 2},
            0);
  expectAll(unary("norm %x {kind = group, groups = 2}", "f32[N, 4, 2]", "f32[N, 4, 2]"), {Array(DType::f32, {0, 4, 2})},
            {0, 4, 2}, 0);
}

TEST(EmptyAxis, SoftmaxInTheMiddleOfAProgram) {
  expectAll(R"(graph @g(%x: f32[3, N], %y: f32[N, 5]) {
      %0 = softmax %x {axis = 1} : f32[3, N]
      %1 = matmul %0, %y : f32[3, 5]
      return %1
    })",
            {Array(DType::f32, {3, 0}), Array(DType::f32, {0, 5})}, {3, 5}, 0);
  expectAll(R"(graph @g(%q: f32[1, 2, 3], %k: f32[1, N, 3], %v: f32[1, N, 3]) {
      %0 = attention %q, %k, %v : f32[1, 2, 3]
      return %0
    })",
            {Array(DType::f32, {1, 2, 3}), Array(DType::f32, {1, 0, 3}), Array(DType::f32, {1, 0, 3})}, {1, 2, 3}, 0);
}

TEST(EmptyAxis, FoldsGiveTheirIdentity) {
  const std::vector<Array> x{Array(DType::f32, {3, 0})};
  expectAll(unary("reduce %x {kind = sum, axes = [1]}", "f32[3]"), x, {3}, 0);
  expectAll(unary("reduce %x {kind = prod, axes = [1]}", "f32[3]"), x, {3}, 1);
  expectAll(unary("reduce %x {kind = mean, axes = [1]}", "f32[3]"), x, {3}, NAN);
  expectAll(unary("reduce %x {kind = var, axes = [1], correction = 1}", "f32[3]"), x, {3}, NAN);
  expectAll(unary("reduce %x {kind = any, axes = [1]}", "bool[3]"), x, {3}, 0);
  expectAll(unary("reduce %x {kind = all, axes = [1]}", "bool[3]"), x, {3}, 1);
  expectAll(unary("scan %x {kind = max, axis = 1}", "f32[3, N]"), x, {3, 0}, 0);
  for (const DType dtype : {DType::boolean, DType::u8, DType::i8, DType::i64, DType::f16, DType::f64})
    for (const bool least : {false, true}) {
      const std::string name(nameOf(dtype)), kind = least ? "min" : "max";
      const double low = dtype == DType::i64 ? -0x1p63 : dtype == DType::i8 ? -128 : isFloat(dtype) ? -INFINITY : 0;
      const double high = isFloat(dtype)        ? INFINITY
                          : dtype == DType::i64 ? 0x1p63
                          : dtype == DType::i8  ? 127
                          : dtype == DType::u8  ? 255
                                                : 1;
      expectAll(unary("reduce %x {kind = " + kind + ", axes = [1], identity = true}", name + "[3]", name + "[3, N]"),
                {Array(dtype, {3, 0})}, {3}, least ? high : low);
    }
}

TEST(EmptyAxis, ExtremesOfNothingAreRefused) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 0}, {0, 0}})
    for (const char* kind : {"max", "min", "argmax", "argmin"}) {
      const std::string type = kind[0] == 'a' ? "i64[M]" : "f32[M]";
      const Graph graph = parsed(unary(std::string("reduce %x {kind = ") + kind + ", axes = [1]}", type, "f32[M, N]"));
      const std::vector<Array> inputs{Array(DType::f32, shape)};
      EXPECT_FALSE(evaluate(graph, inputs)) << kind;
      EXPECT_FALSE(runCompiled(graph, inputs, engine())) << kind;
    }
  const std::vector<Array> image{Array(DType::f32, {1, 1, 0, 4})};
  for (const char* op : {"adaptive_pool %x {kind = avg, spatial = 2}", "adaptive_pool %x {kind = max, spatial = 2}",
                         "resize %x {kind = nearest, spatial = 2}", "resize %x {kind = linear, spatial = 2}"}) {
    const Graph graph = parsed(unary(op, "f32[1, 1, 2, 2]", "f32[1, 1, H, 4]"));
    EXPECT_FALSE(evaluate(graph, image)) << op;
    EXPECT_FALSE(runCompiled(graph, image, engine())) << op;
  }
}

TEST(EmptyAxis, ReadsFromNothingAreRefused) {
  for (const std::string op : {"gather", "index_select"})
    for (const std::string from : {"0", "N"}) {
      const Graph graph = parsed(fmt::format(
          "graph @g(%x: f32[{}, 4], %i: i64[K, 4]) {{\n  %0 = {} %x, %i {{axis = 0}} : f32[K, 4{}]\n  return %0\n}}\n",
          from, op, op == "gather" ? "" : ", 4"));
      const std::vector<Array> some{Array(DType::f32, {0, 4}), Array(DType::i64, {3, 4})};
      for (const auto& [who, outputs] : everyWay(graph, some)) EXPECT_FALSE(outputs) << who << ": " << op << from;
      const std::vector<Array> none{Array(DType::f32, {0, 4}), Array(DType::i64, {0, 4})};
      for (const auto& [who, outputs] : everyWay(graph, none)) EXPECT_TRUE(outputs) << who << ": " << op << from;
    }
}

TEST(EmptyAxis, WindowsOfPaddingHoldTheLeastValue) {
  const std::string window = ", window = [2], stride = [1], low = [1], high = [1], dilation = [1]}";
  for (const auto& [dtype, least] : std::vector<std::pair<DType, double>>{{DType::f32, -INFINITY},
                                                                          {DType::f16, -INFINITY},
                                                                          {DType::i8, -128},
                                                                          {DType::i32, -0x1p31},
                                                                          {DType::u8, 0}}) {
    const std::string name(nameOf(dtype));
    const std::vector<Array> x{Array(dtype, {2, 0})};
    expectAll(unary("pool %x {kind = max" + window, name + "[2, N + 1]", name + "[2, N]"), x, {2, 1}, least);
    expectAll(unary("pool %x {kind = argmax" + window, "i64[2, N + 1]", name + "[2, N]"), x, {2, 1}, -1);
    if (!isFloat(dtype)) continue;
    const std::string mean = "pool %x {kind = avg, count_pad = false" + window;
    expectAll(unary(mean, name + "[2, N + 1]", name + "[2, N]"), x, {2, 1}, NAN);
  }
}

TEST(EmptyAxis, ExtremesOfEmptyResultsAreNothing) {
  const std::string text = unary("reduce %x {kind = max, axes = [1]}", "f32[M]", "f32[M, N]");
  expectAll(text, {Array(DType::f32, {0, 3})}, {0}, 0);
}

}  // namespace
}  // namespace tokamak
