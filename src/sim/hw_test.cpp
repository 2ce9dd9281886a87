#include <gtest/gtest.h>

#include "sim/hw/dram.h"
#include "sim/hw/scratchpad.h"
#include "sim/random_stream_test.h"
#include "sim/reference_test.h"
#include "sim/simulate.h"

namespace tokamak::sim {
namespace {

Options machineWith(int64_t depth) {
  Options options;
  options.profile = Profile::hw;
  options.machine.fifoDepth = depth;
  return options;
}

/// Memory whose answers do not depend on who else asks, and units for all: then only the streams' depth matters.
Options quietMachineWith(int64_t depth) {
  Options options = machineWith(depth);
  options.machine.computeUnits = 0;
  options.machine.dram = {4096, 64, 64, 64, 1, 14, 14, 20};
  options.machine.scratchpad.banks = 4096;
  return options;
}

void expectSame(const stream::Storages& got, const stream::Storages& wanted) {
  for (const auto& [name, output] : wanted) {
    ASSERT_EQ(got.at(name).levels, output.levels);
    ASSERT_EQ(got.at(name).values.size(), output.values.size());
    for (size_t i = 0; i < output.values.size(); ++i) {
      const double a = got.at(name).values[i], b = output.values[i];
      EXPECT_TRUE(a == b || (a != a && b != b)) << "value " << i << ": " << a << " where " << b << " is wanted";
    }
  }
}

TEST(HwProfile, RandomGraphsComputeTheSameValues) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const RandomProgram program = randomProgram(seed);
    SCOPED_TRACE(print(program.graph));
    const stream::Inputs inputs = viewsOf(program.data);
    const reference::Outcome wanted = reference::run(program.graph, inputs);
    const auto report = simulate(program.graph, inputs, machineWith(0));
    ASSERT_TRUE(report) << report.error().str();
    expectSame(report->outputs, wanted.outputs);
    EXPECT_EQ(report->tokens, wanted.tokens);
    if (HasFailure()) break;
  }
}

TEST(HwProfile, DeeperStreamsApproachTheUnboundedCountFromAbove) {
  int shallow = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomProgram program = randomProgram(seed);
    const stream::Inputs inputs = viewsOf(program.data);
    const auto unbounded = simulate(program.graph, inputs, quietMachineWith(0));
    ASSERT_TRUE(unbounded) << unbounded.error().str();
    uint64_t last = UINT64_MAX;
    for (int64_t depth : {2, 4, 16, 64, 4096}) {
      const auto report = simulate(program.graph, inputs, quietMachineWith(depth));
      if (!report) {
        EXPECT_EQ(report.error().code, "T0981") << report.error().str();
        EXPECT_EQ(last, UINT64_MAX) << "seed " << seed << ": deeper streams lock where shallower do not";
        ++shallow;
        continue;
      }
      EXPECT_GE(report->cycles, unbounded->cycles) << "seed " << seed << ", depth " << depth;
      EXPECT_LE(report->cycles, last) << "seed " << seed << ", depth " << depth;
      last = report->cycles;
      expectSame(report->outputs, unbounded->outputs);
    }
    EXPECT_EQ(last, unbounded->cycles);
    if (HasFailure()) {
      std::puts(print(program.graph).c_str());
      break;
    }
  }
  EXPECT_GT(shallow, 0);
}

TEST(HwProfile, DramCountsRowsChannelsAndWires) {
  // two channels of two banks, rows of two bursts; a burst takes the wires 4 cycles, a hit 10, a miss 30, the way 20
  Dram dram({2, 2, 128, 64, 4, 10, 30, 20});
  EXPECT_EQ(dram.access(0, 0, false), 10 + 30 + 4 + 10u);    // channel 0, a row to open
  EXPECT_EQ(dram.access(64, 0, false), 54u);                 // channel 1 at the same time
  EXPECT_EQ(dram.access(128, 0, false), 40 + 10 + 4 + 10u);  // channel 0 again: the bank is free at 40, the row is open
  EXPECT_EQ(dram.access(256, 0, false),
            54 + 4 + 10u);  // the other bank has its data at 40, but the wires are taken until 54
  EXPECT_EQ(dram.counts().hits, 1u);
  EXPECT_EQ(dram.counts().misses, 3u);
}

TEST(HwProfile, ScratchpadBanksConflictAndOverflowSpillsOrIsRefused) {
  HwConfig config;
  config.scratchpad.banks = 4;
  config.scratchpad.bankBusy = 3;
  Dram dram(config.dram);
  Scratchpad pad(config, 16, 0, &dram);  // two entries of 8 bytes
  Stamp t = 10;
  EXPECT_TRUE(pad.touch(1, 1, t));
  EXPECT_EQ(t, 10u);
  EXPECT_TRUE(pad.touch(5, 2, t));  // the same bank, busy until 13
  EXPECT_EQ(t, 13u);
  EXPECT_EQ(pad.conflictCycles(), 3u);
  EXPECT_TRUE(pad.touch(6, 3, t));  // the third entry lives in DRAM: 10 there, a row to open, the burst, 10 back
  EXPECT_EQ(t, 13 + 10 + 42 + 4 + 10u);
  EXPECT_EQ(pad.spilled(), 1u);
  config.scratchpad.overflow = Overflow::refuse;
  Scratchpad strict(config, 16, 0, &dram);
  EXPECT_FALSE(strict.touch(6, 3, t));
}

/// x(i) = B(i) - sum(B), which has to hold all of B until its sum is known.
const char* const kCentre = R"(stream @centre {
  tensor @B[40] dense
  output @x[40] dense
  %r0 = root @B
  %c, %r = scan @B 0 %r0
  %c1, %c2 = broadcast %c
  %v = array @B %r
  %v1, %v2 = broadcast %v
  %s = reduce add %v1
  %t = repeat %s, %c1
  %d = alu sub %v2, %t
  write_level @x 0 %c2
  write_values @x %d
}
)";

stream::Storages vectorOf40() {
  stream::TensorStorage tensor;
  tensor.levels = {{stream::LevelFormat::dense, 40, {}, {}}};
  for (int i = 0; i < 40; ++i) tensor.values.push_back(i);
  return {{"B", tensor}};
}

TEST(HwProfile, DeadlocksNameTheStreamAndTheNodes) {
  const auto graph = stream::parse(kCentre);
  ASSERT_TRUE(graph) << graph.error().str();
  const stream::Storages data = vectorOf40();
  const auto locked = simulate(*graph, viewsOf(data), machineWith(16));
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, "T0981");
  const std::string text = locked.error().str();
  EXPECT_NE(text.find("output 1, token 16: waits for room in %v2 (taken by node 7 (alu sub))"), std::string::npos)
      << text;
  EXPECT_NE(text.find("node 5 (reduce add): input 0, token 16: waits for a token of %v1"), std::string::npos) << text;

  Options deeper = machineWith(16);
  deeper.machine.fifoDepths = {{"v2", 64}, {"c1", 64}};
  const auto runs = simulate(*graph, viewsOf(data), deeper);
  ASSERT_TRUE(runs) << runs.error().str();
  EXPECT_EQ(runs->outputs.at("x").values[3], 3 - 780.0);
}

TEST(HwProfile, FewerUnitsTakeLongerAndSayWhy) {
  const auto graph = stream::parse(kCentre);
  const stream::Storages data = vectorOf40();
  Options many = machineWith(0), one = machineWith(0);
  one.machine.computeUnits = 1;
  const auto fast = simulate(*graph, viewsOf(data), many), slow = simulate(*graph, viewsOf(data), one);
  ASSERT_TRUE(fast && slow);
  EXPECT_GE(slow->cycles, fast->cycles);
  uint64_t read = 0;
  for (const TensorReport& tensor : fast->tensors) read += tensor.tensor == "B" ? tensor.bytesRead : 0;
  EXPECT_EQ(read, 192u);  // 40 values of 4 bytes are three bursts
  for (const NodeReport& node : fast->nodes) {
    uint64_t waits = node.waitMemory + node.waitCompute;
    for (uint64_t cycles : node.waitInput) waits += cycles;
    for (uint64_t cycles : node.waitOutput) waits += cycles;
    EXPECT_LE(node.busy + waits, fast->cycles + 1) << node.node.index;
  }
}

TEST(HwProfile, ConfigurationsComeBackAndFaultsAreNamed) {
  const HwConfig rda = *hwPreset("rda");
  const auto again = parseHwConfig(printHwConfig(rda), "m.json");
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(*again, rda);
  const auto changed =
      parseHwConfig(R"({"preset": "rda", "dram": {"channels": 3}, "fifo_depths": {"%v1": 7}})", "m.json");
  ASSERT_TRUE(changed) << changed.error().str();
  EXPECT_EQ(changed->dram.channels, 3);
  EXPECT_EQ(changed->fifoDepths.at("v1"), 7);
  EXPECT_EQ(changed->computeUnits, rda.computeUnits);
  const auto codeOf = [](std::string_view text) {
    const auto config = parseHwConfig(text, "m.json");
    return config ? "accepted" : config.error().message;
  };
  EXPECT_EQ(codeOf(R"({"dram": {"channel": 3}})"), "dram.channel: is no field of a machine");
  EXPECT_EQ(codeOf(R"({"fifo_depth": -1})"), "fifo_depth: -1 is out of range");
  EXPECT_EQ(codeOf(R"({"fifo_depth": "deep"})"), "fifo_depth: \"deep\" is out of range");
  EXPECT_EQ(codeOf("[1]"), "not a JSON object");
  EXPECT_EQ(codeOf(R"({"preset": "huge"})"), "there is no preset huge");
}

}  // namespace
}  // namespace tokamak::sim
