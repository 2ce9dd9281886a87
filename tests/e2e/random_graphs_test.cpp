#include <gtest/gtest.h>

#include <fmt/format.h>

#include "driver/three_ways.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "fuzz/shrink.h"
#include "support/sanitized.h"

namespace tokamak {
namespace {

// Seeds of one test, and how many of them it tries: sanitizers make each several times slower.
constexpr int kSeeds = 125;
constexpr int kTried = kSanitized ? 25 : kSeeds;

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

/// What is wrong with how this graph runs; empty if nothing is.
std::string complaint(const Graph& graph, uint64_t seed) {
  const DimBindings dims = fuzz::randomDims(graph, seed);
  const auto inputs = fuzz::randomInputs(graph, seed, dims);
  // Unfused plans, stores past the caches and no library take turns, so that every path meets many graphs.
  CompileOptions options{.fuse = seed % 5 != 0, .library = seed % 3 != 0};
  if (seed % 2 == 0) options.streamBytes = 0;
  if (auto simt = runSimtGraph(graph, inputs, engine(), options); !simt)
    return "SIMT: " + simt.error().str();
  else if (auto same = fuzz::compareOutputs(graph, inputs, *simt); !same)
    return "SIMT: " + same.error().str();
  if (auto compiled = runCompiled(graph, inputs, engine(), options); !compiled)
    return "LLVM: " + compiled.error().str();
  else if (auto same = fuzz::compareOutputs(graph, inputs, *compiled); !same)
    return "LLVM: " + same.error().str();
  return {};
}

/// Interpreter, SIMT interpreter and compiled kernels agree on random graphs; a failure shows its seed and shrinks
/// itself.
class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, AgreeThreeWays) {
  for (int i = 0; i < kTried; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kSeeds + i;
    const Graph graph = fuzz::randomGraph(seed);
    const std::string wrong = complaint(graph, seed);
    if (wrong.empty()) continue;
    const Graph small = fuzz::shrink(graph, [&](const Graph& g) { return !complaint(g, seed).empty(); });
    ADD_FAILURE() << "seed " << seed << "\n" << complaint(small, seed) << "\n" << print(small);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 16),
                         [](const auto& info) { return fmt::format("From{}", info.param * kSeeds); });

}  // namespace
}  // namespace tokamak
