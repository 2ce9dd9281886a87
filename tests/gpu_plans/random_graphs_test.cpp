#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fuzz/random_graph.h"
#include "fuzz/shrink.h"
#include "gpu_plans/run.h"
#include "support/sanitized.h"

namespace tokamak::gpu_plans {
namespace {

// Seeds of one test, and how many of them it tries: sanitizers make each several times slower.
constexpr int kSeeds = 100;
constexpr int kTried = kSanitized ? 20 : kSeeds;

/// The kernels of random graphs for a GPU agree with the reference evaluator; a failure shows its seed and shrinks
/// itself.
class GpuRandomGraphs : public testing::TestWithParam<int> {};

TEST_P(GpuRandomGraphs, Agree) {
  for (int i = 0; i < kTried; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kSeeds + i;
    const auto wrong = [&](const Graph& graph) {
      return complaint(graph, seed, fuzz::randomDims(graph, seed), {.fuse = seed % 5 != 0});
    };
    const Graph graph = fuzz::randomGraph(seed);
    if (wrong(graph).empty()) continue;
    const Graph small = fuzz::shrink(graph, [&](const Graph& g) { return !wrong(g).empty(); });
    ADD_FAILURE() << "seed " << seed << "\n" << wrong(small) << "\n" << print(small);
    return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GpuRandomGraphs, testing::Range(0, 40),
                         [](const auto& info) { return fmt::format("From{}", info.param * kSeeds); });

}  // namespace
}  // namespace tokamak::gpu_plans
