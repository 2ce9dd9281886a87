#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fuzz/compare.h"
#include "fuzz/random_graph.h"
#include "fuzz/shrink.h"
#include "gpu/device.h"

namespace tokamak::gpu {
namespace {

constexpr int kSeeds = 25;

/// TOKAMAK_GPU_SEED begins elsewhere.
uint64_t firstSeed() {
  const char* text = std::getenv("TOKAMAK_GPU_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

std::string complaint(const Graph& graph, uint64_t seed) {
  const auto inputs = fuzz::randomInputs(graph, seed, fuzz::randomDims(graph, seed));
  const auto outputs = run(graph, inputs, {.fuse = seed % 5 != 0});
  if (!outputs) return isYetToCome(outputs.error()) ? "" : outputs.error().str();
  const auto same = fuzz::compareOutputs(graph, inputs, *outputs);
  return same ? "" : same.error().str();
}

/// Random graphs on the device agree with the reference evaluator; a failure shows its seed and shrinks itself.
class RandomGraphsOnGpu : public testing::TestWithParam<int> {};

TEST_P(RandomGraphsOnGpu, Agree) {
  fuzz::RandomGraphOptions limits;
  limits.products = false;
  for (int i = 0; i < kSeeds; ++i) {
    const uint64_t seed = firstSeed() + static_cast<uint64_t>(GetParam()) * kSeeds + i;
    const Graph graph = fuzz::randomGraph(seed, limits);
    const std::string wrong = complaint(graph, seed);
    if (wrong.empty()) continue;
    const bool faulted = wrong.find("T0611") != std::string::npos;  // nothing more runs after a fault
    const Graph small =
        faulted ? graph : fuzz::shrink(graph, [&](const Graph& g) { return !complaint(g, seed).empty(); });
    FAIL() << "seed " << seed << "\n" << (faulted ? wrong : complaint(small, seed)) << "\n" << print(small);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphsOnGpu, testing::Range(0, 12),
                         [](const auto& info) { return fmt::format("From{}", info.param * kSeeds); });

}  // namespace
}  // namespace tokamak::gpu
