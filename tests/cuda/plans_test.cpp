#include "cuda/simt_compiler.h"
#include "driver/compile_cuda.h"
#include "driver/tune.h"
#include "fuzz/compare.h"
#include "fuzz/random_graph.h"

/// Plans that a look at the compiled kernels changes: those that spill, and those that a neighbour beats.
namespace tokamak {
namespace {

constexpr std::string_view kNorm = R"(graph @norm(%x: f32[M, 4096], %w: f32[4096], %b: f32[4096]) {
  %0 = norm %x, %w, %b {kind = layer, axes = 1, eps = 1e-05, affine = true} : f32[M, 4096]
  return %0
})";

struct PlansAgain : testing::Test {
  PlansAgain() : engine(fake::makeEngine()), graph(*parseGraph(kNorm)) { options.hints["M"] = 6; }
  ~PlansAgain() override { fake::cuda().localBytes = nullptr; }

  void expectRight(const CompiledCuda& compiled) {
    const auto inputs = fuzz::randomInputs(graph, 3, options.hints);
    const auto outputs = runOnDevice(compiled, inputs);
    ASSERT_TRUE(outputs) << outputs.error().str();
    const auto same = fuzz::compareOutputs(graph, inputs, *outputs);
    EXPECT_TRUE(same) << same.error().str();
  }

  Engine engine;
  Graph graph;
  CompileOptions options;
};

TEST_F(PlansAgain, AKernelThatSpillsIsPlannedWithRegistersToSpare) {
  const auto plain = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(plain) << plain.error().str();
  const std::string first = plain->explanation.kernels[0];
  fake::cuda().localBytes = [&](const std::string& image) { return image == first ? 64 : 0; };
  const auto again = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_NE(again->explanation.kernels[0], first);
  ASSERT_FALSE(again->explanation.ledger.notes.empty());
  EXPECT_EQ(again->explanation.ledger.notes.back(),
            again->explanation.ledger.regions[0].name +
                " was planned again: a thread kept 64 bytes in memory for want of registers, now 0");
  EXPECT_NE(again->explanation.ledger.regions[0].schedule, plain->explanation.ledger.regions[0].schedule);
  expectRight(*again);
}

TEST_F(PlansAgain, TheFirstPlanStaysWhereOthersSpillAsMuch) {
  const auto plain = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(plain);
  fake::cuda().localBytes = [](const std::string&) { return 64; };
  const auto again = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->explanation.kernels, plain->explanation.kernels);
  EXPECT_TRUE(again->explanation.ledger.notes.empty());
}

TEST_F(PlansAgain, AFewBytesAreNoReason) {
  const auto plain = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(plain);
  const std::string first = plain->explanation.kernels[0];
  fake::cuda().localBytes = [&](const std::string& image) { return image == first ? 16 : 0; };
  const auto again = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->explanation.kernels, plain->explanation.kernels);
}

TEST_F(PlansAgain, TunesByMeasuringNeighboursOnTheDevice) {
  std::vector<std::string> measured;
  const auto tuned = tuneCuda(graph, engine, 0, options,
                              {.seconds = 0.01, .progress = [&](auto line) { measured.emplace_back(line); }});
  ASSERT_TRUE(tuned) << tuned.error().str();
  ASSERT_EQ(measured.size(), 6u);
  EXPECT_EQ(measured[0].substr(0, 13), "as predicted:");
  EXPECT_EQ(tuned->explanation.ledger.notes.back().substr(0, 6), "tuned:");
  expectRight(*tuned);
  measured.clear();
  const auto again = tuneCuda(graph, engine, 0, options, {.progress = [&](auto line) { measured.emplace_back(line); }});
  ASSERT_TRUE(again);
  EXPECT_TRUE(measured.empty()) << "the winner is remembered";
  EXPECT_EQ(again->explanation.ledger.notes.back().substr(0, 13), "tuned before:");
}

TEST_F(PlansAgain, NeighboursAreRight) {
  const auto plain = compileCuda(graph, engine, 0, options);
  ASSERT_TRUE(plain);
  options.gpu = gpuOf(plain->device.device->info());
  for (const double inFlight : {0.5, 2.0}) {
    options.gpu->inFlight = inFlight;
    const auto other = compileCuda(graph, engine, 0, options);
    ASSERT_TRUE(other) << other.error().str();
    EXPECT_NE(other->explanation.kernels[0], plain->explanation.kernels[0]) << inFlight;
    expectRight(*other);
  }
}

}  // namespace
}  // namespace tokamak
