#include <gtest/gtest.h>

#include "sim/random_stream_test.h"
#include "sim/reference_test.h"
#include "sim/simulate.h"
#include "sparse/stream/run/engine.h"
#include "sparse/stream/run/run.h"

namespace tokamak::sim {
namespace {

void expectSame(const stream::Storages& got, const stream::Storages& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, output] : wanted) {
    EXPECT_EQ(got.at(name).levels, output.levels);
    ASSERT_EQ(got.at(name).values.size(), output.values.size());
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double a = got.at(name).values[i], b = output.values[i];
      EXPECT_TRUE(a == b || (a != a && b != b)) << "value " << i << ": " << a << " where " << b << " is wanted";
    }
  }
}

/// Nodes stop and go on at every place when channels hold few tokens.
void expectSmallChannels(const RandomProgram& program, const reference::Outcome& wanted) {
  stream::Graph graph = program.graph;
  const stream::Inputs inputs = viewsOf(program.data);
  ASSERT_TRUE(stream::bindSizes(graph, inputs));
  stream::Network<stream::Timed> engine(graph, inputs, {32});
  const auto ran = stream::runNetwork(engine);
  ASSERT_TRUE(ran) << ran.error().str();
  uint64_t last = 0;
  for (const auto& node : engine.nodes()) last = std::max(last, node->clock().t);
  EXPECT_EQ(last, wanted.cycles);
  ASSERT_TRUE(finishOutputs(graph, engine.results()));
  expectSame(engine.results(), wanted.outputs);
}

TEST(Comal, RandomGraphsAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomProgram program = randomProgram(seed);
    SCOPED_TRACE(print(program.graph));
    const stream::Inputs inputs = viewsOf(program.data);
    const reference::Outcome wanted = reference::run(program.graph, inputs);
    const auto report = simulate(program.graph, inputs);
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_EQ(report->cycles, wanted.cycles);
    EXPECT_EQ(report->tokens, wanted.tokens);
    expectSame(report->outputs, wanted.outputs);
    const auto result = stream::run(program.graph, inputs);
    ASSERT_TRUE(result) << result.error().str();
    EXPECT_EQ(result->tokens, wanted.tokens);
    expectSame(result->outputs, wanted.outputs);
    expectSmallChannels(program, wanted);
    if (HasFailure()) break;
  }
}

/// The same graphs on blocks: other times, and every element of a result's block what the number was.
TEST(Comal, RandomGraphsOfBlocksAgreeWithTheReference) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const int64_t extent = 2 + static_cast<int64_t>(seed % 3);
    const RandomProgram numbers = randomProgram(seed), blocks = randomProgram(seed, extent);
    SCOPED_TRACE(print(blocks.graph));
    reference::Outcome wanted = reference::run(numbers.graph, viewsOf(numbers.data), static_cast<uint64_t>(extent));
    for (auto& [name, output] : wanted.outputs) {
      std::vector<double> elements;
      for (const double v : output.values) elements.insert(elements.end(), static_cast<size_t>(extent * extent), v);
      output.values = std::move(elements);
    }
    const stream::Inputs inputs = viewsOf(blocks.data);
    const auto report = simulate(blocks.graph, inputs);
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_EQ(report->cycles, wanted.cycles) << "seed " << seed;
    EXPECT_EQ(report->tokens, wanted.tokens);
    expectSame(report->outputs, wanted.outputs);
    const auto result = stream::run(blocks.graph, inputs);
    ASSERT_TRUE(result) << result.error().str();
    expectSame(result->outputs, wanted.outputs);
    expectSmallChannels(blocks, wanted);
    if (HasFailure()) break;
  }
}

/// Whatever the profile, the node where streams do not fit says so, with port and token.
TEST(Simulate, StopsThatDisagreeAreNamed) {
  const auto graph = stream::parse(R"(stream @bad {
  tensor @B[8] dense
  tensor @C[4] dense
  output @x[8] dense
  %r0 = root @B
  %c, %r = scan @B 0 %r0
  %s0 = root @C
  _, %s = scan @C 0 %s0
  %v = array @B %r
  %w = array @C %s
  %y = alu add %v, %w
  write_level @x 0 %c
  write_values @x %y
}
)");
  ASSERT_TRUE(graph) << graph.error().str();
  stream::TensorStorage b, c;
  b.levels = {{stream::LevelFormat::dense, 8, {}, {}}};
  b.values.assign(8, 1.0);
  c.levels = {{stream::LevelFormat::dense, 4, {}, {}}};
  c.values.assign(4, 1.0);
  const stream::Storages data = {{"B", b}, {"C", c}};
  for (const Profile profile : {Profile::comal, Profile::comal_hbm, Profile::hw}) {
    const auto report = simulate(*graph, viewsOf(data), {.profile = profile});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, "T0960") << report.error().str();
    EXPECT_NE(report.error().message.find("node 6 (alu add): input 1 (%w), token 4: S0"), std::string::npos)
        << report.error().str();
  }
}

}  // namespace
}  // namespace tokamak::sim
