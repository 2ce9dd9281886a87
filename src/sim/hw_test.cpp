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
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const RandomProgram program = randomProgram(seed);
    const stream::Inputs inputs = viewsOf(program.data);
    const auto unbounded = simulate(program.graph, inputs, quietMachineWith(0));
    ASSERT_TRUE(unbounded) << unbounded.error().str();
    uint64_t last = UINT64_MAX;
    for (int64_t depth : {2, 4, 16, 64, 4096}) {
      const auto report = simulate(program.graph, inputs, quietMachineWith(depth));
      if (!report) {
        EXPECT_EQ(report.error().code, "T0971") << report.error().str();
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

}  // namespace
}  // namespace tokamak::sim
