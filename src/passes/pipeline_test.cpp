#include "passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "passes/expect_rewrite.h"
#include "support/sanitized.h"

namespace tokamak {
namespace {

/// A transformer of `layers` blocks: norm, attention with split heads, residual, norm, gelu or swiglu, residual.
std::string transformer(int layers, std::string_view t, std::string_view rows, int d, int heads) {
  std::string parameters = fmt::format("%x: {}[{}, {}]", t, rows, d), body, h = "%x";
  const std::string act = fmt::format("{}[{}, {}]", t, rows, d);
  const std::string split = fmt::format("{}[{}, {}, {}]", t, rows, heads, d / heads);
  const std::string byHead = fmt::format("{}[{}, {}, {}]", t, heads, rows, d / heads);
  for (int i = 0; i < layers; ++i) {
    for (std::string_view w : {"q", "k", "v", "o"}) parameters += fmt::format(", %{}{}: {}[{}, {}]", w, i, t, d, d);
    parameters +=
        fmt::format(", %u{0}: {1}[{2}, {3}], %d{0}: {1}[{3}, {2}], %g{0}: {1}[{2}], %b{0}: {1}[{2}]", i, t, d, 4 * d);
    body += fmt::format("%n{0} = norm {1}, %g{0}, %b{0} {{kind = layer, axes = 1, affine = true}} : {2}\n", i, h, act);
    for (std::string_view w : {"q", "k", "v"})
      body += fmt::format(
          "%m{0}{1} = matmul %n{1}, %{0}{1} : {2}\n%r{0}{1} = reshape %m{0}{1} : {3}\n"
          "%t{0}{1} = transpose %r{0}{1} {{perm = [1, 0, 2]}} : {4}\n",
          w, i, act, split, byHead);
    body += fmt::format(
        "%a{0} = attention %tq{0}, %tk{0}, %tv{0} {{causal = true}} : {1}\n"
        "%at{0} = transpose %a{0} {{perm = [1, 0, 2]}} : {2}\n%ar{0} = reshape %at{0} : {3}\n"
        "%ao{0} = matmul %ar{0}, %o{0} : {3}\n%s{0} = add {4}, %ao{0} : {3}\n"
        "%p{0} = norm %s{0}, %g{0}, %b{0} {{kind = layer, axes = 1, affine = true}} : {3}\n",
        i, byHead, split, act, h);
    body += fmt::format(
        "%up{0} = matmul %p{0}, %u{0} : {1}[{2}, {3}]\n%ge{0} = gelu %up{0} : {1}[{2}, {3}]\n"
        "%dn{0} = matmul %ge{0}, %d{0} : {4}\n%h{0} = add %s{0}, %dn{0} : {4}\n",
        i, t, rows, 4 * d, act);
    h = fmt::format("%h{}", i);
  }
  return fmt::format("graph @transformer({}) {{\n{}return {}\n}}", parameters, body, h);
}

TEST(Pipeline, TakesATransformerBlockToPrimitives) {
  for (std::string_view t : {"f32", "bf16", "f16", "f64"}) {
    const Graph original = parsed(transformer(1, t, "S", 8, 2));
    Graph graph = original;
    std::vector<std::string> ran;
    const auto result = runPipeline(graph, {}, [&](std::string_view name, const Graph& state) {
      ran.emplace_back(name);
      EXPECT_TRUE(verify(state).ok()) << name;
    });
    ASSERT_TRUE(result.ok()) << result.error().str();
    EXPECT_GE(ran.size(), 10u);
    for (const Node& node : graph.nodes()) {
      EXPECT_FALSE(isComposite(node.op)) << mnemonic(node.op);
      EXPECT_FALSE(std::holds_alternative<Attention>(node.op));
    }
    expectSameResults(graph, original);
    Graph eager = original;
    ASSERT_TRUE(runPipeline(eager, {.eagerRounding = true}).ok());
    expectSameResults(eager, original);
  }
}

TEST(Pipeline, IsAFixedPoint) {
  Graph graph = parsed(transformer(2, "bf16", "S", 8, 2));
  ASSERT_TRUE(runPipeline(graph).ok());
  const std::string once = print(graph);
  for (std::string_view name : passNames()) {
    const auto changed = runPass(name, graph);
    ASSERT_TRUE(changed.ok());
    EXPECT_EQ(*changed, Changed::no) << name << "\n" << print(graph);
  }
  EXPECT_EQ(print(graph), once);
}

TEST(Pipeline, MeetsCastsAcrossShapeOps) {
  Graph graph = parsed(R"(
    graph @f(%x: bf16[6, 4]) {
      %0 = gelu %x : bf16[6, 4]
      %1 = reshape %0 : bf16[2, 3, 4]
      %2 = transpose %1 {perm = [1, 0, 2]} : bf16[3, 2, 4]
      %3 = gelu %2 : bf16[3, 2, 4]
      return %3
    })");
  const Graph original = graph;
  ASSERT_TRUE(runPipeline(graph).ok());
  int casts = 0;
  for (const Node& node : graph.nodes()) casts += std::holds_alternative<Cast>(node.op);
  EXPECT_EQ(casts, 2) << print(graph);
  expectSameResults(graph, original);
}

/// Planning a large model must not wait for the passes: 24 layers in well under 300 ms, and time that grows with size.
TEST(Pipeline, IsQuickOnTwentyFourLayers) {
  const Graph original = parsed(transformer(24, "bf16", "S", 64, 4));
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    Graph graph = original;
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(runPipeline(graph).ok());
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("milliseconds", std::to_string(best));
  EXPECT_LT(best, kSanitized ? 20000 : 1000) << "milliseconds, in a debug build on a busy machine";
}

TEST(Pipeline, RunsPassesByName) {
  Graph graph = parsed("graph @f(%x: f32[4]) { %0 = relu %x : f32[4]\n return %0 }");
  EXPECT_EQ(*runPass("decompose", graph), Changed::yes);
  const auto unknown = runPass("dekompose", graph);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, "T0805");
  EXPECT_NE(unknown.error().hint.find("decompose"), std::string::npos);
  const auto names = passNames();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

}  // namespace
}  // namespace tokamak
