#include "fuzz/random_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "fuzz/compare.h"
#include "fuzz/shrink.h"
#include "graph/interp/evaluate.h"

namespace tokamak::fuzz {
namespace {

constexpr uint64_t kSeeds = 300;

TEST(RandomGraph, VerifiesEvaluatesAndRoundTrips) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = randomGraph(seed);
    const auto verified = verify(graph);
    ASSERT_TRUE(verified.ok()) << verified.error().str() << "\n" << print(graph);
    const auto parsed = parseGraph(print(graph));
    ASSERT_TRUE(parsed.ok()) << parsed.error().str() << "\n" << print(graph);
    ASSERT_EQ(print(*parsed), print(graph));
    ASSERT_TRUE(*parsed == graph) << print(graph);
    const auto inputs = randomInputs(graph, seed, randomDims(graph, seed));
    const auto outputs = evaluate(graph, inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.error().str() << "\n" << print(graph);
  }
}

TEST(RandomGraph, IsTheSameForTheSameSeed) {
  EXPECT_TRUE(randomGraph(11) == randomGraph(11));
  EXPECT_FALSE(randomGraph(11) == randomGraph(12));
  const Graph graph = randomGraph(11);
  const DimBindings dims = randomDims(graph, 5);
  EXPECT_EQ(randomInputs(graph, 5, dims), randomInputs(graph, 5, dims));
}

TEST(RandomGraph, ReachesEveryOpAndDtype) {
  std::set<size_t> ops;
  std::set<DType> dtypes;
  int symbolic = 0, several = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Graph graph = randomGraph(seed);
    bool hasSymbol = false;
    for (const Node& node : graph.nodes()) {
      ops.insert(node.op.index());
      dtypes.insert(node.type.dtype);
      for (const Dim& extent : node.type.shape) hasSymbol = hasSymbol || !extent.isConst();
    }
    symbolic += hasSymbol;
    several += graph.outputs().size() > 1;
  }
  EXPECT_EQ(ops.size(), std::variant_size_v<Op>);
  EXPECT_EQ(dtypes.size(), 10u);
  EXPECT_GT(symbolic, 50);
  EXPECT_GT(several, 100);
}

TEST(RandomGraph, OptionsLimitIt) {
  RandomGraphOptions options;
  options.dtypes = {DType::f32};
  options.symbols = options.folds = options.shapes = options.indexing = options.random = false;
  options.windows = options.products = options.composites = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = randomGraph(seed, options);
    for (const Node& node : graph.nodes()) {
      EXPECT_FALSE(std::holds_alternative<Reduce>(node.op));
      for (const Dim& extent : node.type.shape) EXPECT_TRUE(extent.isConst());
    }
  }
}

TEST(Compare, AcceptsCorrectOutputsOfAnyPrecision) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = randomGraph(seed);
    const auto inputs = randomInputs(graph, seed, randomDims(graph, seed));
    // Seeds that the comparison does not use itself.
    const auto same = compareOutputs(graph, inputs, *evaluatePerturbed(graph, inputs, 1000 + seed));
    EXPECT_TRUE(same.ok()) << same.error().str() << "\n" << print(graph);
  }
}

TEST(Compare, RefusesWrongOutputs) {
  int refused = 0, changed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = randomGraph(seed);
    const auto inputs = randomInputs(graph, seed, randomDims(graph, seed));
    auto outputs = *evaluate(graph, inputs, EvalPrecision::compute);
    Array& first = outputs[0];
    if (first.size() == 0) continue;
    const int64_t at = first.size() / 2;
    if (isFloat(first.dtype()))
      first.setDouble(at, first.getDouble(at) * 1.25 + 1);
    else
      first.setInt(at, first.getInt(at) == 0 ? 1 : 0);
    if (isFloat(first.dtype()) && !std::isfinite(first.getDouble(at))) continue;
    ++changed;
    refused += !compareOutputs(graph, inputs, outputs).ok();
  }
  EXPECT_GT(changed, 30);
  EXPECT_GT(refused, changed * 8 / 10);
}

TEST(Shrink, FindsTheOneOpAtFault) {
  const auto hasErf = [](const Graph& graph) {
    for (const Node& node : graph.nodes())
      if (const auto* unary = std::get_if<Unary>(&node.op); unary && unary->kind == UnaryKind::erf) return true;
    return false;
  };
  int found = 0;
  for (uint64_t seed = 0; seed < 150 && found < 3; ++seed) {
    const Graph graph = randomGraph(seed);
    if (!hasErf(graph)) continue;
    ++found;
    const Graph small = shrink(graph, hasErf);
    EXPECT_TRUE(verify(small).ok());
    EXPECT_TRUE(hasErf(small));
    EXPECT_LE(small.size(), 2u) << print(small);
  }
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace tokamak::fuzz
