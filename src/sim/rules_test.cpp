#include <gtest/gtest.h>

#include "sim/one_block_test.h"
#include "sim/simulate.h"

/// The rules of the `comal` profile, one by one, with counts worked out by hand: taking a token waits for its stamp, a
/// token put is stamped with the next cycle, a step adds one.
namespace tokamak::sim {
namespace {

using namespace stream;
constexpr StreamKind crd = StreamKind::crd, ref = StreamKind::ref, val = StreamKind::val;

void expectRun(const BlockRun& run, const std::vector<std::string>& outputs, uint64_t clock) {
  EXPECT_EQ(run.fault, "");
  EXPECT_EQ(run.outputs, outputs);
  EXPECT_EQ(run.clock, clock);
}

Storages matrix() {  // rows {1, 3}, {}, {0}
  TensorStorage tensor;
  tensor.levels = {{LevelFormat::dense, 3, {}, {}}, {LevelFormat::compressed, 4, {0, 2, 2, 3}, {1, 3, 0}}};
  tensor.values = {10, 20, 30};
  return {{"B", tensor}};
}

TEST(Rules, RootPutsZeroAndDone) { expectRun(runBlock(Root{"B"}, {}, {ref}, matrix()), {"0@1 D@2"}, 1); }

TEST(Rules, DenseScanPutsAPairAStepAndWaitsForTheNextToken) {
  // t=1: 0@2, 1@3, 2@4; D is there at 9, so the stop is put at 10 and the clock is 10; D at 11
  expectRun(runBlock(Scan{"B", 0}, {{ref, "0@1 D@9"}}, {crd, ref}, matrix()),
            {"0@2 1@3 2@4 S0@10 D@11", "0@2 1@3 2@4 S0@10 D@11"}, 10);
}

TEST(Rules, CompressedScanTakesStopsAndPutsThemOneHigher) {
  // row 0: t=1: 1@2 3@3, t=3; next is reference 1: S0@4, t=4. row 1 is empty: next is S0, taken: S1@5, t=5.
  // S1 on its own at 7: S2 with a hollow level @8, t=8. D@9.
  expectRun(runBlock(Scan{"B", 1}, {{ref, "0@1 1@2 S0@3 S1@7 D@8"}}, {crd, ref}, matrix()),
            {"1@2 3@3 S0@4 S1@5 S2'1@8 D@9", "0@2 1@3 S0@4 S1@5 S2'1@8 D@9"}, 8);
}

TEST(Rules, ScanOfAnAbsentOperandIsAnEmptyFiber) {
  // N costs a step of its own (t=1 -> 2), then the stop: the next token, at 4, is no stop: S0@5, t=5. Row 2: 0@6, S1@7.
  expectRun(runBlock(Scan{"B", 1}, {{ref, "N@1 2@4 S0@5 D@6"}}, {crd, ref}, matrix()),
            {"S0@5 0@6 S1@7 D@8", "S0@5 2@6 S1@7 D@8"}, 7);
}

TEST(Rules, RepeatIsASignalMakerAndARepeater) {
  // signals are stamped one later than `along`, and the repeater puts one later still; S looks at the next data token.
  // along 5@2 6@3 S1@4: signals R@3 R@4 S@5. data 7@1 S0@6: put 7@4 7@5; S: the next token is there at 6: S1@7, t=7.
  // D@8.
  expectRun(runBlock(Repeat{}, {{ref, "7@1 S0@6 D@7"}, {crd, "5@2 6@3 S1@4 D@5"}}, {ref}), {"7@4 7@5 S1@7 D@8"}, 7);
}

TEST(Rules, RepeatRaisesAStopThatHasNoValueBeforeIt) {
  // data S0@1 (an empty fiber), along S1'1@1: signal S@2, put S1 hollow @3, t=3; data D@2 with signal D@3: D@4
  expectRun(runBlock(Repeat{}, {{ref, "S0@1 D@2"}, {crd, "S1'1@1 D@2"}}, {ref}), {"S1'1@3 D@4"}, 3);
}

TEST(Rules, IntersectPopsTheSmallerCoordinate) {
  // heads of all four streams are needed: the first step is at 4. 1<2: pop a, t=5. 2=2: put @6, t=6. S0: put @7. D@8
  expectRun(
      runBlock(Joiner{JoinKind::intersect},
               {{crd, "1@1 2@2 S0@3 D@4"}, {ref, "0@1 1@2 S0@3 D@4"}, {crd, "2@1 S0@2 D@3"}, {ref, "9@4 S0@5 D@6"}},
               {crd, ref, ref}),
      {"2@6 S0@7 D@8", "1@6 S0@7 D@8", "9@6 S0@7 D@8"}, 7);
}

TEST(Rules, UnionPutsAbsentOperandsAsN) {
  // 1 of a: put with N @2, t=2. 2 of b: put @3, t=3. S0 @4, t=4. D@5
  expectRun(runBlock(Joiner{JoinKind::unite},
                     {{crd, "1@1 S0@2 D@3"}, {ref, "0@1 S0@2 D@3"}, {crd, "2@1 S0@2 D@3"}, {val, "0.5@1 S0@2 D@3"}},
                     {crd, ref, val}),
            {"1@2 2@3 S0@4 D@5", "0@2 N@3 S0@4 D@5", "N@2 0.5@3 S0@4 D@5"}, 4);
}

TEST(Rules, JoinersOfThreeTakeOneStepForAllThatHoldTheLeast) {
  const std::string one = "1@1 S0@2 D@3", two = "2@1 S0@2 D@3";
  // 1 of the first two: @2, 2 of the third: @3, S0@4
  expectRun(runBlock(Joiner{JoinKind::unite}, {{crd, one}, {ref, one}, {crd, one}, {ref, one}, {crd, two}, {ref, two}},
                     {crd, ref, ref, ref}),
            {"1@2 2@3 S0@4 D@5", "1@2 N@3 S0@4 D@5", "1@2 N@3 S0@4 D@5", "N@2 2@3 S0@4 D@5"}, 4);
}

TEST(Rules, LocateAddsTheParentAtNoCost) {
  // size 3: 2 -> 2, with parent 4: 4 * 3 + 2 = 14; a token a step
  expectRun(runBlock(Locate{"B", 0}, {{crd, "2@1 S0@2 D@3"}, {ref, "5@3 S0@4 D@5"}}, {ref, ref, crd}, matrix()),
            {"2@4 S0@5 D@6", "5@4 S0@5 D@6", "2@4 S0@5 D@6"}, 5);
  expectRun(runBlock(Locate{"B", 0}, {{crd, "2@1 S0@2 D@3"}, {ref, "5@3 S0@4 D@5"}, {ref, "4@1 S0@2 D@3"}},
                     {ref, ref, crd}, matrix()),
            {"14@4 S0@5 D@6", "5@4 S0@5 D@6", "2@4 S0@5 D@6"}, 5);
}

TEST(Rules, ArrayLoadsATokenAStepAndAbsentAsZero) {
  expectRun(runBlock(Array{"B"}, {{ref, "2@1 N@1 S0@5 D@6"}}, {val}, matrix()), {"30@2 0@3 S0@6 D@7"}, 6);
}

TEST(Rules, AluWaitsForAllItsInputs) {
  expectRun(runBlock(Alu{AluOp::mul, {}, false}, {{val, "2@1 3@2 S0@3 D@4"}, {val, "5@4 N@5 S0@6 D@7"}}, {val}),
            {"10@5 0@6 S0@7 D@8"}, 7);
  expectRun(runBlock(Alu{AluOp::max, 0.0, false}, {{val, "-2@1 S0@2 D@3"}}, {val}), {"0@2 S0@3 D@4"}, 3);
}

TEST(Rules, ReducePutsValueAndStopWithOneStamp) {
  // 1, 2 at t=1, 2; S1 at t=3: 3@4 S0@4, t=4; an empty fiber S0@5: 0@6, t=6; hollow S1@6: no value, S0@7
  expectRun(runBlock(Reduce{FoldOp::add, {}}, {{val, "1@1 2@2 S1@3 S0@5 S1'1@6 D@7"}}, {val}),
            {"3@4 S0@4 0@6 S0@7 D@8"}, 7);
  expectRun(runBlock(Reduce{FoldOp::max, {}}, {{val, "-1@1 -2@2 S0@3 -4@4 S0@5 D@6"}}, {val}), {"-1@4 -4@6 D@7"}, 6);
}

TEST(Rules, AccumulatorFlushesWithOneStamp) {
  // outer 0 2 S0, inner 1 3 S0 | 3 S1. Steps: fold 1 (t=1), 3 (2), S0 with outer 0 (3), fold 3 (4), S1 with outer 2
  // (5), outer S0 at 6: 1, 3 and the stop, all @7; the inner head is D at 7, no stop, so t = 7; D@8.
  expectRun(
      runBlock(Spacc{1, FoldOp::add},
               {{crd, "0@1 2@2 S0@3 D@4"}, {crd, "1@1 3@2 S0@3 3@4 S1@5 D@6"}, {val, "10@1 20@2 S0@3 5@4 S1@5 D@6"}},
               {crd, val}),
      {"1@7 3@7 S0@7 D@8", "10@7 25@7 S0@7 D@8"}, 7);
}

TEST(Rules, AccumulatorTakesTheInnerStopOfAnEmptyGroup) {
  // outer 0 S0 S1, inner 1 S1 S2'1: the group after the first is empty. fold 1 (t=1), S1 with outer 0 (2), outer S0 at
  // 3: put @4; the inner head is a stop, so the next outer token is waited for (9): a stop: inner and val popped, t
  // = 10. outer S1 at 10: put @11, t = 11. D@12
  expectRun(
      runBlock(Spacc{1, FoldOp::add},
               {{crd, "0@1 S0@2 S1@9 D@10"}, {crd, "1@1 S1@2 S2'1@3 D@4"}, {val, "7@1 S1@2 S2'1@3 D@4"}}, {crd, val}),
      {"1@4 S0@4 S1@11 D@12", "7@4 S0@4 S1@11 D@12"}, 11);
}

TEST(Rules, AccumulatorStartsWithAnEmptyGroup) {
  // outer S0 0 S1, inner S1'1 4 S2: its stop is taken at no cost, then as ever: S0@2 (t=2), fold 4 at 3, S2 at 4, S1:
  // @6
  expectRun(
      runBlock(Spacc{1, FoldOp::add},
               {{crd, "S0@1 0@2 S1@3 D@4"}, {crd, "S1'1@1 4@3 S2@4 D@5"}, {val, "S1'1@1 6@3 S2@4 D@5"}}, {crd, val}),
      {"S0@4 4@7 S1@7 D@8", "S0@4 6@7 S1@7 D@8"}, 7);
}

TEST(Rules, AccumulatorOfOrderTwo) {
  // k: 0 S0; j: 1 2 S1; l: 5 S0 6 S2. fold (0,1,5) t=1->2, S0 takes j=1 (3), fold (0,2,6) (4), S2 takes j=2 (5),
  // j's stop takes k (6), k's stop: everything @7 (t=7)
  expectRun(runBlock(Spacc{2, FoldOp::add},
                     {{crd, "0@1 S0@2 D@3"},
                      {crd, "1@1 2@2 S1@3 D@4"},
                      {crd, "5@1 S0@2 6@3 S2@4 D@5"},
                      {val, "1@1 S0@2 2@3 S2@4 D@5"}},
                     {crd, crd, val}),
            {"1@7 2@7 S0@7 D@8", "5@7 S0@7 6@7 S1@7 D@8", "1@7 S0@7 2@7 S1@7 D@8"}, 7);
}

TEST(Rules, DropTakesACoordinateAndItsFiberInOneStep) {
  // outer 0: fiber 4 5: put @2 @3 as they come, the coordinate @4 (t=3 -> 4); outer 1: empty: dropped (4 -> 5);
  // outer S0: the kept fiber's stop becomes S1, with the stamp of the last inner stop (5); outer stop @6. D@7
  expectRun(runBlock(CrdDrop{}, {{crd, "0@1 1@2 S0@3 D@4"}, {crd, "4@1 5@2 S0@3 S1@4 D@5"}}, {crd, crd}),
            {"0@4 S0@6 D@7", "4@2 5@3 S1@5 D@7"}, 6);
}

TEST(Rules, HoldPutsTheOuterCoordinateForEachInnerOne) {
  // a step an inner token
  expectRun(runBlock(CrdHold{}, {{crd, "7@1 8@2 S0@3 D@4"}, {crd, "1@1 2@2 S0@3 3@4 S1@5 D@6"}}, {crd, crd}),
            {"7@2 7@3 S0@4 8@5 S1@6 D@7", "1@2 2@3 S0@4 3@5 S1@6 D@7"}, 6);
}

TEST(Rules, ForkDealsValuesAndJoinTakesTurns) {
  expectRun(runBlock(Fork{}, {{ref, "0@1 1@2 2@3 S0@4 D@5"}}, {ref, ref}), {"0@2 2@4 S0@5 D@6", "1@3 S0@5 D@6"}, 5);
  // lane 0: 4 S0 6 S1, lane 1: 5 S1: fibers in turn; lane 1 has no second turn and its S1 has come: the last fiber's
  // stop is S1
  expectRun(runBlock(Join{1}, {{crd, "4@1 S0@2 6@3 S1@4 D@5"}, {crd, "5@1 S1@2 D@3"}}, {crd}),
            {"4@2 S0@3 5@4 S0@5 6@6 S1@7 D@9"}, 8);
}

TEST(Rules, LevelWriteChargesCoordinatesAndFirstStops) {
  // 1@1: t=2; 2@2: t=3; S0@3: t=4; S1@5 is a second stop in a row: free, t=5; D@6: t=6
  EXPECT_EQ(runBlock(WriteLevel{"x", 0}, {{crd, "1@1 2@2 S0@3 S1@5 D@6"}}, {}).clock, 6u);
  EXPECT_EQ(runBlock(WriteLevel{"x", 0}, {{crd, "1@1 2@1 3@1 S0@1 D@1"}}, {}).clock, 5u);
}

TEST(Rules, ValueWriteChargesValuesAndDone) {
  EXPECT_EQ(runBlock(WriteValues{"x"}, {{val, "1@1 2@1 S0@1 3@1 S1@1 D@1"}}, {}).clock, 5u);
  EXPECT_EQ(runBlock(WriteValues{"x"}, {{val, "1@1 S0@2 D@9"}}, {}).clock, 10u);
}

TEST(Rules, FaultsNameNodePortAndToken) {
  const BlockRun alu = runBlock(Alu{AluOp::add, {}, false}, {{val, "1@1 S0@2 D@3"}, {val, "1@1 2@2 S0@3 D@4"}}, {val});
  EXPECT_NE(alu.fault.find("T0960: node 0 (alu add): input 1 (%v1), token 1: 2 where the other streams have S0"),
            std::string::npos)
      << alu.fault;
  const BlockRun scan = runBlock(Scan{"B", 1}, {{ref, "0@1 3@2 S0@3 D@4"}}, {crd, ref}, matrix());
  EXPECT_NE(scan.fault.find("T0961: node 0 (scan @B 1): input 0 (%r0), token 1: reference 3"), std::string::npos)
      << scan.fault;
  const BlockRun join =
      runBlock(Joiner{JoinKind::intersect},
               {{crd, "S0@1 D@2"}, {ref, "S0@1 D@2"}, {crd, "S1@1 D@2"}, {ref, "S1@1 D@2"}}, {crd, ref, ref});
  EXPECT_NE(join.fault.find("input 2 (%c2), token 0: S1 where the other streams have S0"), std::string::npos)
      << join.fault;
}

}  // namespace
}  // namespace tokamak::sim
