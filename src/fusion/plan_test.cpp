#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fusion/region.h"
#include "graph/graph.h"

namespace tokamak {
namespace {

Graph parsed(std::string_view text) {
  Result<Graph> graph = parseGraph(text);
  EXPECT_TRUE(graph) << graph.error().str();
  return graph ? std::move(*graph) : Graph{};
}

ValueId named(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.size(); ++i)
    if (const ValueId v{static_cast<uint32_t>(i)}; graph.label(v) == name) return v;
  ADD_FAILURE() << "no value " << name;
  return {};
}

const LedgerEdge& edge(const Graph& graph, const FusionPlan& plan, std::string_view from, std::string_view to) {
  const ValueId producer = named(graph, from), consumer = named(graph, to);
  for (const LedgerEdge& e : plan.ledger.edges)
    if (e.producer == producer && e.consumer == consumer) return e;
  ADD_FAILURE() << "no edge " << from << " -> " << to;
  return plan.ledger.edges.at(0);
}

/// What holds of every plan: regions store what others load, before they load it, and nothing is stored twice.
void expectSound(const Graph& graph, const FusionPlan& plan) {
  std::set<uint32_t> stored;
  for (size_t i = 0; i < graph.size(); ++i)
    if (std::holds_alternative<Input>(graph.nodes()[i].op) || std::holds_alternative<Constant>(graph.nodes()[i].op))
      stored.insert(static_cast<uint32_t>(i));
  const auto home = [&](ValueId v) {
    while (plan.aliasOf[v.index]) v = plan.aliasOf[v.index];
    return v.index;
  };
  for (const Region& region : plan.regions) {
    for (ValueId v : region.inputs) EXPECT_TRUE(stored.contains(home(v))) << graph.label(v) << " is loaded too early";
    for (ValueId v : region.outputs) EXPECT_TRUE(stored.insert(v.index).second) << graph.label(v) << " stored twice";
  }
  for (ValueId v : graph.outputs()) EXPECT_TRUE(stored.contains(home(v))) << graph.label(v) << " is never stored";
}

constexpr std::string_view kChain = R"(graph @chain(%x: f32[64, 256], %b: f32[256]) {
  %wide = broadcast %b {axes = [1]} : f32[64, 256]
  %sum = add %x, %wide : f32[64, 256]
  %e = exp %sum : f32[64, 256]
  %y = neg %e : f32[64, 256]
  return %y
})";

TEST(PlanFusion, AChainOfPointwiseOpsIsOneRegionThatMovesItsBytesOnce) {
  const Graph graph = parsed(kChain);
  const FusionPlan plan = planFusion(graph, {});
  expectSound(graph, plan);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].kind, RegionKind::pointwise);
  EXPECT_EQ(plan.regions[0].outputs, std::vector<ValueId>{named(graph, "%y")});
  const LedgerRegion& entry = plan.ledger.regions[0];
  EXPECT_EQ(entry.bytesRead, (64 * 256 + 256) * 4.0);
  EXPECT_EQ(entry.bytesWritten, 64 * 256 * 4.0);
  EXPECT_EQ(plan.ledger.fusedBytes, entry.bytesRead + entry.bytesWritten);
  EXPECT_EQ(edge(graph, plan, "%sum", "%e").decision, EdgeDecision::fused);
}

TEST(PlanFusion, WithoutFusionEveryOpIsARegion) {
  const Graph graph = parsed(kChain);
  const FusionPlan plan = planFusion(graph, {.fuse = false});
  expectSound(graph, plan);
  EXPECT_EQ(plan.regions.size(), 3u) << "add, exp, neg: a broadcast is a view";
  EXPECT_EQ(plan.ledger.fusedBytes, plan.ledger.unfusedBytes);
  EXPECT_EQ(edge(graph, plan, "%sum", "%e").decision, EdgeDecision::cut);
}

TEST(PlanFusion, ASoftmaxInPrimitivesIsOneRegionOfOneReadAndOneWrite) {
  const Graph graph = parsed(R"(graph @softmax(%x: f32[64, 256]) {
  %max = reduce %x {kind = max, axes = [1]} : f32[64]
  %wide = broadcast %max {axes = [0]} : f32[64, 256]
  %shifted = sub %x, %wide : f32[64, 256]
  %e = exp %shifted : f32[64, 256]
  %sum = reduce %e {kind = sum, axes = [1]} : f32[64]
  %sums = broadcast %sum {axes = [0]} : f32[64, 256]
  %y = div %e, %sums : f32[64, 256]
  return %y
})");
  const FusionPlan plan = planFusion(graph, {});
  expectSound(graph, plan);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].kind, RegionKind::reduce);
  EXPECT_EQ(plan.ledger.fusedBytes, 2 * 64 * 256 * 4.0);
}

TEST(PlanFusion, ReductionsOverDifferentAxesReadTheInputTwiceRatherThanStoreWhatIsBetween) {
  const Graph graph = parsed(R"(graph @two(%x: f32[512, 512]) {
  %rows = reduce %x {kind = sum, axes = [1]} : f32[512]
  %wide = broadcast %rows {axes = [0]} : f32[512, 512]
  %scaled = mul %x, %wide : f32[512, 512]
  %columns = reduce %scaled {kind = sum, axes = [0]} : f32[512]
  return %columns
})");
  const FusionPlan plan = planFusion(graph, {});
  expectSound(graph, plan);
  EXPECT_EQ(plan.regions.size(), 2u);
  EXPECT_EQ(edge(graph, plan, "%scaled", "%columns").decision, EdgeDecision::replicated);
  EXPECT_EQ(plan.ledger.fusedBytes, 2 * 512 * 512 * 4.0 + 3 * 512 * 4.0);
}

TEST(PlanFusion, WhatIsDearBetweenReductionsIsStoredAndTheCutHasAReason) {
  const Graph graph = parsed(R"(graph @two(%x: f32[512, 512]) {
  %rows = reduce %x {kind = sum, axes = [1]} : f32[512]
  %wide = broadcast %rows {axes = [0]} : f32[512, 512]
  %power = pow %x, %wide : f32[512, 512]
  %columns = reduce %power {kind = sum, axes = [0]} : f32[512]
  return %columns
})");
  const FusionPlan plan = planFusion(graph, {});
  expectSound(graph, plan);
  EXPECT_EQ(plan.regions.size(), 2u);
  const LedgerEdge& cut = edge(graph, plan, "%power", "%columns");
  EXPECT_EQ(cut.decision, EdgeDecision::cut);
  EXPECT_EQ(cut.rule, "folds-differ");
  EXPECT_FALSE(cut.reason.empty());
}

TEST(PlanFusion, ReadersOfOneInputShareARegion) {
  const Graph graph = parsed(R"(graph @siblings(%x: f32[1024, 1024]) {
  %sum = reduce %x {kind = sum, axes = [1]} : f32[1024]
  %max = reduce %x {kind = max, axes = [1]} : f32[1024]
  return %sum, %max
})");
  const FusionPlan plan = planFusion(graph, {});
  expectSound(graph, plan);
  ASSERT_EQ(plan.regions.size(), 1u) << "one read of %x serves both";
  EXPECT_EQ(plan.regions[0].outputs.size(), 2u);
  EXPECT_EQ(plan.ledger.fusedBytes, 1024 * 1024 * 4.0 + 2 * 1024 * 4.0);
}

size_t regionsOnAGpu(const Graph& graph) {
  FusionOptions options;
  options.machine.pairsFolds = true;
  options.machine.bytesPerMicrosecond = 4e6;
  options.libraryTypes = {DType::f32};
  options.epilogues = false;
  const FusionPlan plan = planFusion(graph, options);
  expectSound(graph, plan);
  return plan.regions.size();
}

TEST(PlanFusion, SmallKernelsThatAreAlikeAreOneLaunchOnAGpu) {
  const auto text = [](const std::string& shape, const std::string& last) {
    return "graph @twins(%q: f32[" + shape + "], %k: f32[" + shape + "], %v: f32[" + shape +
           "]) {\n  %0 = tanh %q : f32[" + shape + "]\n  %1 = tanh %k : f32[" + shape + "]\n  %2 = " + last +
           " : f32[" + shape + "]\n  return %0, %1, %2\n}";
  };
  EXPECT_EQ(regionsOnAGpu(parsed(text("64, 1024", "tanh %v"))), 1u);
  EXPECT_EQ(regionsOnAGpu(parsed(text("64, 1024", "exp %v"))), 2u) << "of another kind";
  EXPECT_EQ(regionsOnAGpu(parsed(text("65536, 1024", "tanh %v"))), 3u) << "too large for a launch to show";
  EXPECT_EQ(planFusion(parsed(text("64, 1024", "tanh %v")), {}).regions.size(), 3u) << "on the CPU";
}

TEST(PlanFusion, KernelsThatWaitForOneAnotherAreNoTwins) {
  EXPECT_EQ(regionsOnAGpu(parsed(R"(graph @chain(%x: f32[64, 64], %y: f32[64, 64]) {
  %0 = matmul %x, %y : f32[64, 64]
  %1 = tanh %0 : f32[64, 64]
  %2 = matmul %1, %y : f32[64, 64]
  %3 = tanh %2 : f32[64, 64]
  %4 = matmul %3, %y : f32[64, 64]
  return %4
})")),
            5u);
}

TEST(PlanFusion, AProductIsARegionOfItsOwnWithWhatFollowsInPlace) {
  const Graph graph = parsed(R"(graph @product(%a: f32[64, 128], %b: f32[128, 32], %r: f32[64, 32]) {
  %p = matmul %a, %b : f32[64, 32]
  %s = add %p, %r : f32[64, 32]
  return %s
})");
  for (const bool library : {false, true}) {
    FusionOptions options;
    if (library) options.libraryTypes = {DType::f32};
    options.decomposed = [](const Activation&, const TensorType&) { return Graph{}; };
    const FusionPlan plan = planFusion(graph, options);
    expectSound(graph, plan);
    ASSERT_EQ(plan.regions.size(), 1u);
    EXPECT_EQ(plan.regions[0].kind, RegionKind::contract);
    EXPECT_EQ(plan.regions[0].tier, library ? Tier::library : Tier::kernel);
    EXPECT_EQ(plan.regions[0].outputs, std::vector<ValueId>{named(graph, "%s")});
    EXPECT_EQ(edge(graph, plan, "%p", "%s").decision, library ? EdgeDecision::library : EdgeDecision::fused);
  }
}

TEST(PlanFusion, AReshapeOfAStoredValueMovesNothing) {
  const Graph graph = parsed(R"(graph @view(%x: f32[64, 256]) {
  %y = reshape %x : f32[128, 128]
  return %y
})");
  const FusionPlan plan = planFusion(graph, {});
  EXPECT_TRUE(plan.regions.empty());
  EXPECT_EQ(plan.aliasOf[named(graph, "%y").index], named(graph, "%x"));
}

TEST(PlanFusion, TheLedgerHoldsEveryEdgeOnce) {
  const Graph graph = parsed(kChain);
  const FusionPlan plan = planFusion(graph, {});
  std::map<std::pair<uint32_t, uint32_t>, int> wanted, got;
  for (size_t i = 0; i < graph.size(); ++i)
    for (ValueId operand : graph.nodes()[i].operands)
      if (!std::holds_alternative<Input>(graph.node(operand).op)) ++wanted[{operand.index, static_cast<uint32_t>(i)}];
  for (const LedgerEdge& e : plan.ledger.edges) ++got[{e.producer.index, e.consumer.index}];
  EXPECT_EQ(got, wanted);
}

TEST(PlanFusion, PlansDoNotDependOnWhoAsks) {
  const Graph graph = parsed(kChain);
  const FusionPlan a = planFusion(graph, {}), b = planFusion(graph, {});
  ASSERT_EQ(a.regions.size(), b.regions.size());
  for (size_t i = 0; i < a.regions.size(); ++i) EXPECT_EQ(a.regions[i].nodes, b.regions[i].nodes);
}

}  // namespace
}  // namespace tokamak
