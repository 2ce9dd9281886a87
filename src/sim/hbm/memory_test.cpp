#include "sim/hbm/memory.h"

#include <gtest/gtest.h>

#include "sim/one_block_test.h"

/// The rules of the `comal-hbm` profile, with counts worked out by hand. The first eight requests of a cycle go to
/// channels 0, 1, 3, 6, 2, 7, 5, 4: each moves on by its number.
namespace tokamak::sim {
namespace {

using namespace stream;
constexpr StreamKind crd = StreamKind::crd, ref = StreamKind::ref, val = StreamKind::val;

class Client : public MemoryClient {
 public:
  using MemoryClient::MemoryClient;
  using MemoryClient::post;
  using MemoryClient::takeAnswer;
};

TEST(Hbm, AnIdleMemoryAnswersEightInNineteenCycles) {
  Client one(0, false), eight(0, false);
  one.post(10, 1);
  eight.post(10, 8);
  Hbm().serve({&one});
  Hbm().serve({&eight});
  EXPECT_EQ(one.takeAnswer(), 29u);
  EXPECT_EQ(eight.takeAnswer(), 29u);
}

TEST(Hbm, TheNinthRequestOfACycleWaitsForItsChannel) {
  // the writer's request is the ninth: it moves on by 8, to channel 4 again, which is free at 14: 14 + 17
  Client reader(5, false), writer(2, true);
  reader.post(10, 8);
  writer.post(10, 1);
  ASSERT_TRUE(reader.before(writer));
  Hbm().serve({&reader, &writer});
  EXPECT_EQ(reader.takeAnswer(), 29u);
  EXPECT_EQ(writer.takeAnswer(), 31u);
}

TEST(Hbm, TheIndexMovesOnByTheRequestsOfACycle) {
  // after eight requests it stands at 4 + 8: channel 4, free at 14, where 13 was asked for; then at 5, idle
  Hbm memory;
  Client client(0, false);
  client.post(10, 8);
  memory.serve({&client});
  client.takeAnswer();
  client.post(11, 1);
  memory.serve({&client});
  EXPECT_EQ(client.takeAnswer(), 31u);
  client.post(12, 1);
  memory.serve({&client});
  EXPECT_EQ(client.takeAnswer(), 31u);
}

Storages row(int32_t entries) {
  TensorStorage tensor;
  tensor.levels = {{LevelFormat::compressed, 100, {0, entries}, {}}};
  for (int32_t i = 0; i < entries; ++i) {
    tensor.levels[0].crd.push_back(i);
    tensor.values.push_back(i);
  }
  return {{"B", tensor}};
}

TEST(HbmRules, ScanAsksForSegmentEndsAndThenForCoordinates) {
  // 0@1: two words asked for at 1 are there at 20; three coordinates asked for at 20 at 39: put @40. S0@40, t=40; D@41
  const BlockRun three = runBlock(Scan{"B", 0}, {{ref, "0@1 D@2"}}, {crd, ref}, row(3), {}, Memory::hbm);
  EXPECT_EQ(three.outputs[0], "0@40 1@40 2@40 S0@40 D@41");
  EXPECT_EQ(three.clock, 40u);
  // the ninth coordinate is a batch of its own, asked for at 39: there at 58
  const BlockRun nine = runBlock(Scan{"B", 0}, {{ref, "0@1 D@2"}}, {crd, ref}, row(9), {}, Memory::hbm);
  EXPECT_EQ(nine.outputs[0], "0@40 1@40 2@40 3@40 4@40 5@40 6@40 7@40 8@59 S0@59 D@60");
  EXPECT_EQ(nine.clock, 59u);
}

TEST(HbmRules, ArrayGathersReferences) {
  // three steps to t=4; the stop sends the batch, answered at 23: put @24. S0@24, t=24; D@25
  const BlockRun three = runBlock(Array{"B"}, {{ref, "0@1 1@2 2@3 S0@4 D@5"}}, {val}, row(3), {}, Memory::hbm);
  EXPECT_EQ(three.outputs[0], "0@24 1@24 2@24 S0@24 D@25");
  EXPECT_EQ(three.clock, 24u);
  // the eighth sends it itself, at 8: answered at 27, put @28, t=28; S0@29, t=29; D@30
  const BlockRun eight =
      runBlock(Array{"B"}, {{ref, "0@1 1@2 2@3 3@4 4@5 5@6 6@7 7@8 S0@9 D@10"}}, {val}, row(8), {}, Memory::hbm);
  EXPECT_EQ(eight.outputs[0], "0@28 1@28 2@28 3@28 4@28 5@28 6@28 7@28 S0@29 D@30");
  EXPECT_EQ(eight.clock, 29u);
}

TEST(HbmRules, LevelWriteSendsCoordinatesAndSegmentEndsApart) {
  const auto clock = [](const char* tokens) {
    return runBlock(WriteLevel{"x", 0}, {{crd, tokens}}, {}, {}, {}, Memory::hbm).clock;
  };
  // three steps to t=4; D sends two coordinates, answered at 23, then one segment end, answered at 42
  EXPECT_EQ(clock("0@1 1@2 S0@3 D@4"), 42u);
  // the eighth coordinate sends at 8: answered at 27, t=28; the stop: t=29; D sends its segment end at 29: 48
  EXPECT_EQ(clock("0@1 1@2 2@3 3@4 4@5 5@6 6@7 7@8 S0@9 D@10"), 48u);
}

TEST(HbmRules, ValueWriteAsksForEachValue) {
  // 1: asked for at 1, there at 20, t=21; the stop is free; 2: asked for at 21, there at 40, t=41; D: t=42
  EXPECT_EQ(runBlock(WriteValues{"x"}, {{val, "1@1 S0@2 2@3 D@4"}}, {}, {}, {}, Memory::hbm).clock, 42u);
}

TEST(HbmRules, DenseScansAskForNothing) {
  TensorStorage tensor;
  tensor.levels = {{LevelFormat::dense, 3, {}, {}}};
  const BlockRun run = runBlock(Scan{"B", 0}, {{ref, "0@1 D@9"}}, {crd, ref}, {{"B", tensor}}, {}, Memory::hbm);
  EXPECT_EQ(run.outputs[0], "0@2 1@3 2@4 S0@10 D@11");
}

}  // namespace
}  // namespace tokamak::sim
