#include <gtest/gtest.h>

#include <functional>

#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "fuzz/shrink.h"
#include "graph/interp/evaluate.h"
#include "passes/pipeline.h"
#include "support/sanitized.h"

namespace tokamak::fuzz {
namespace {

constexpr uint64_t kSeeds = kSanitized ? 60 : 300;

using Rewrite = std::function<Result<>(Graph&)>;

/// What is wrong with the rewritten graph; empty if nothing is.
std::string complaint(const Graph& graph, uint64_t seed, const Rewrite& rewrite) {
  Graph rewritten = graph;
  if (const auto done = rewrite(rewritten); !done) return done.error().code == "T0290" ? "" : done.error().str();
  if (const auto verified = verify(rewritten); !verified) return verified.error().str();
  const auto inputs = randomInputs(graph, seed, randomDims(graph, seed));
  if (!evaluate(graph, inputs)) return "";
  const auto outputs = evaluate(rewritten, inputs);
  if (!outputs) return outputs.error().str();
  const auto same = compareOutputs(graph, inputs, *outputs);
  return same ? "" : same.error().str();
}

void expectSameResults(uint64_t seed, const std::string& name, const Rewrite& rewrite) {
  const Graph graph = randomGraph(seed);
  const std::string found = complaint(graph, seed, rewrite);
  if (found.empty()) return;
  const Graph small = shrink(graph, [&](const Graph& g) { return !complaint(g, seed, rewrite).empty(); });
  Graph rewritten = small;
  static_cast<void>(rewrite(rewritten));
  ADD_FAILURE() << name << ", seed " << seed << ": " << complaint(small, seed, rewrite) << "\n"
                << print(small) << "becomes\n"
                << print(rewritten);
}

TEST(FuzzPasses, EachPassKeepsResults) {
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed)
    for (std::string_view name : passNames())
      expectSameResults(seed, std::string(name), [name](Graph& graph) -> Result<> {
        TK_RETURN_IF_ERROR(runPass(name, graph));
        return Unit{};
      });
}

TEST(FuzzPasses, PipelineKeepsResults) {
  for (uint64_t seed = kSeeds; seed < 2 * kSeeds && !HasFailure(); ++seed) {
    expectSameResults(seed, "pipeline", [](Graph& graph) { return runPipeline(graph); });
    expectSameResults(seed, "pipeline with eager rounding",
                      [](Graph& graph) { return runPipeline(graph, {.eagerRounding = true}); });
  }
}

TEST(FuzzPasses, PipelineLeavesPrimitivesInCanonicalForm) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Graph graph = randomGraph(seed);
    if (!runPipeline(graph)) continue;
    for (const Node& node : graph.nodes()) EXPECT_FALSE(isComposite(node.op)) << mnemonic(node.op) << ", seed " << seed;
    const std::string once = print(graph);
    ASSERT_TRUE(runPipeline(graph).ok());
    EXPECT_TRUE(print(graph) == once) << "a second run changes more, seed " << seed << "\n" << once << print(graph);
  }
}

}  // namespace
}  // namespace tokamak::fuzz
