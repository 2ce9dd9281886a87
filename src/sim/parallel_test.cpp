#include "sim/parallel.h"

#include <gtest/gtest.h>

#include "sim/random_stream_test.h"
#include "sim/simulate.h"
#include "sparse/stream/run/engine.h"
#include "sparse/stream/run/run.h"

namespace tokamak::sim {
namespace {

using namespace stream;

struct Outcome {
  std::vector<uint64_t> clocks;
  uint64_t tokens = 0;
  Storages outputs;
};

/// Handed over after two rounds, with channels of 32 tokens, so that threads wait for each other all the time.
Outcome runWith(const Graph& graph, const Inputs& inputs, unsigned threads) {
  Network<Timed> network(graph, inputs, {32});
  const auto ran = runOnThreads(network, threads, {}, 2);
  EXPECT_TRUE(ran) << ran.error().str();
  Outcome out;
  for (const auto& node : network.nodes()) out.clocks.push_back(node->clock().t);
  out.tokens = network.tokens();
  EXPECT_TRUE(finishOutputs(graph, network.results()));
  out.outputs = std::move(network.results());
  return out;
}

bool sameBits(const Storages& a, const Storages& b) {
  for (const auto& [name, one] : a) {
    const TensorStorage& other = b.at(name);
    if (one.levels != other.levels || one.values.size() != other.values.size()) return false;
    for (size_t i = 0; i < one.values.size(); ++i)
      if (bitsOf(one.values[i]) != bitsOf(other.values[i])) return false;
  }
  return a.size() == b.size();
}

TEST(Parallel, EveryNumberOfThreadsGivesTheSameCyclesAndValues) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const RandomProgram program = randomProgram(seed);
    Graph graph = program.graph;
    const Inputs inputs = viewsOf(program.data);
    ASSERT_TRUE(bindSizes(graph, inputs));
    const Outcome one = runWith(graph, inputs, 1);
    for (unsigned threads : {2U, 3U, 5U}) {
      const Outcome many = runWith(graph, inputs, threads);
      EXPECT_EQ(many.clocks, one.clocks) << "seed " << seed << ", " << threads << " threads";
      EXPECT_EQ(many.tokens, one.tokens);
      EXPECT_TRUE(sameBits(many.outputs, one.outputs)) << "seed " << seed << ", " << threads << " threads";
    }
    if (HasFailure()) break;
  }
}

TEST(Parallel, FaultsEndAllThreads) {
  const auto graph = parse(R"(stream @bad {
  tensor @B[8] dense
  tensor @C[4] dense
  output @x[8] dense
  %r0 = root @B
  %c, %r = scan @B 0 %r0
  %r1, %r2 = broadcast %r
  %v = array @B %r1
  %w = array @C %r2
  %d = alu add %v, %w
  write_level @x 0 %c
  write_values @x %d
}
)");
  ASSERT_TRUE(graph) << graph.error().str();
  TensorStorage b, c;
  b.levels = {{LevelFormat::dense, 8, {}, {}}};
  b.values.assign(8, 1.0);
  c.levels = {{LevelFormat::dense, 4, {}, {}}};
  c.values.assign(4, 1.0);
  const Storages data = {{"B", b}, {"C", c}};
  const Inputs inputs = viewsOf(data);
  Network<Timed> network(*graph, inputs);
  const auto ran = runOnThreads(network, 3, {}, 0);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, "T0961");
}

}  // namespace
}  // namespace tokamak::sim
