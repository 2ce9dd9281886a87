#include <gtest/gtest.h>

#include "sim/one_block_test.h"

/// The rules of the `comal` profile for values that are matrices of 2 x 2 (N = 2), with counts worked out by hand:
/// products have a latency of 2N - 1 and start every N cycles; sums, differences and element products take N * N, one
/// operand N; loading and folding a block take N * N. Everything else costs what it costs for numbers.
namespace tokamak::sim {
namespace {

using namespace stream;
constexpr StreamKind crd = StreamKind::crd, ref = StreamKind::ref, val = StreamKind::val;
constexpr BlockShape kTwo{2, 2};

void expectRun(const BlockRun& run, const std::vector<std::string>& outputs, uint64_t clock) {
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.outputs, outputs);
  EXPECT_EQ(run.clock, clock);
}

Storages blocks() {  // two blocks: all ones, all twos
  TensorStorage tensor;
  tensor.levels = {{LevelFormat::dense, 2, {}, {}}};
  tensor.block = {2, 2};
  tensor.values = {1, 1, 1, 1, 2, 2, 2, 2};
  return {{"B", tensor}};
}

TEST(BlockRules, ArrayTakesACycleAnElement) {
  // t=1: put 1 + 4 = 5, t=5; the second 9, t=9; S0@10, t=10; D@11
  expectRun(runBlock(Array{"B"}, {{ref, "0@1 1@2 S0@3 D@4"}}, {val}, blocks(), kTwo), {"1@5 2@9 S0@10 D@11"}, 10);
}

TEST(BlockRules, ProductsOverlap) {
  // latency 3, one every 2: t=1: @4, t=3: @6, t=5; S0@6. Rows of ones times columns of threes: 1*3 + 1*3 = 6
  const BlockRun run =
      runBlock(Alu{AluOp::matmul, {}, false}, {{val, "1@1 2@2 S0@3 D@4"}, {val, "3@1 3@2 S0@3 D@4"}}, {val}, {}, kTwo);
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.outputs[0].substr(0, 17), "6@4 12@6 S0@6 D@8") << run.outputs[0];
  EXPECT_EQ(run.clock, 7u);
}

TEST(BlockRules, SumsTakeACycleAnElement) {
  // t=1: @5, t=5: @9, t=9: S0@10, and the step takes as long as any: t=13; D@14
  expectRun(
      runBlock(Alu{AluOp::add, {}, false}, {{val, "1@1 2@2 S0@3 D@4"}, {val, "3@1 N@2 S0@3 D@4"}}, {val}, {}, kTwo),
      {"4@5 2@9 S0@10 D@14"}, 13);
}

TEST(BlockRules, FunctionsTakeACycleARow) {
  // t=1: @3, t=3: @5, t=5: S0@6, t=7: D@8
  expectRun(runBlock(Alu{AluOp::neg, {}, false}, {{val, "1@1 2@2 S0@3 D@4"}}, {val}, {}, kTwo), {"-1@3 -2@5 S0@6 D@8"},
            7);
}

TEST(BlockRules, ReduceTakesACycleAnElement) {
  // t=1 -> 5 -> 9; S1 puts the sum at 9 + 4 and S0 at 10, t=10; D@11
  expectRun(runBlock(Reduce{FoldOp::add, {}}, {{val, "1@1 2@2 S1@3 D@4"}}, {val}, {}, kTwo), {"3@13 S0@10 D@11"}, 10);
}

TEST(BlockRules, AccumulatorTakesACycleAnElement) {
  // fold at 1: t=5; S1 takes the outer coordinate, t=6; the outer stop puts everything @7, t=7; D@8
  expectRun(runBlock(Spacc{1, FoldOp::add}, {{crd, "0@1 S0@2 D@3"}, {crd, "1@1 S1@2 D@3"}, {val, "3@1 S1@2 D@3"}},
                     {crd, val}, {}, kTwo),
            {"1@7 S0@7 D@8", "3@7 S0@7 D@8"}, 7);
}

TEST(BlockRules, MovingBlocksCostsWhatMovingNumbersDoes) {
  expectRun(runBlock(Repeat{}, {{val, "7@1 S0@6 D@7"}, {crd, "5@2 6@3 S1@4 D@5"}}, {val}, {}, kTwo),
            {"7@4 7@5 S1@7 D@8"}, 7);
  expectRun(runBlock(Joiner{JoinKind::unite},
                     {{crd, "1@1 S0@2 D@3"}, {val, "4@1 S0@2 D@3"}, {crd, "2@1 S0@2 D@3"}, {val, "5@1 S0@2 D@3"}},
                     {crd, val, val}, {}, kTwo),
            {"1@2 2@3 S0@4 D@5", "4@2 N@3 S0@4 D@5", "N@2 5@3 S0@4 D@5"}, 4);
  expectRun(runBlock(Fork{}, {{val, "3@1 4@2 S0@4 D@5"}}, {val, val}, {}, kTwo), {"3@2 S0@5 D@6", "4@3 S0@5 D@6"}, 5);
}

TEST(BlockRules, ValueWriteChargesABlockAsOneValue) {
  EXPECT_EQ(runBlock(WriteValues{"x"}, {{val, "1@1 2@1 S0@1 D@1"}}, {}, {}, kTwo).clock, 4u);
}

}  // namespace
}  // namespace tokamak::sim
