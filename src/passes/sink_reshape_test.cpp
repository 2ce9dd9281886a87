#include "passes/sink_reshape.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(SinkReshape, MergesTwoReshapesUnderAdd) {
  expectRewrite(SinkReshape{}, R"(
    graph @add(%a: f32[64, 2], %b: f32[64, 2]) {
      %0 = exp %a : f32[64, 2]
      %1 = exp %b : f32[64, 2]
      %2 = reshape %0 : f32[128]
      %3 = reshape %1 : f32[128]
      %4 = add %2, %3 : f32[128]
      return %4
    })",
                R"(
    graph @add(%a: f32[64, 2], %b: f32[64, 2]) {
      %0 = exp %a : f32[64, 2]
      %1 = exp %b : f32[64, 2]
      %2 = add %0, %1 : f32[64, 2]
      %3 = reshape %2 : f32[128]
      return %3
    })");
}

TEST(SinkReshape, LeavesReshapedInputs) {
  expectNoRewrite(SinkReshape{}, R"(
    graph @f(%a: f32[64, 2], %b: f32[128]) {
      %0 = reshape %a : f32[128]
      %1 = add %0, %b : f32[128]
      return %1
    })");
}

TEST(SinkReshape, TakesBroadcastsFullsIotasAndInputsAlong) {
  expectRewrite(SinkReshape{}, R"(
    graph @linear(%x: f32[B*S, 8], %bias: f32[8], %res: f32[B, S, 8], %pos: f32[B], %seq: f32[S]) {
      %0 = neg %x : f32[B*S, 8]
      %1 = reshape %0 : f32[B, S, 8]
      %2 = broadcast %bias {axes = [2]} : f32[B, S, 8]
      %3 = add %1, %2 : f32[B, S, 8]
      %4 = full {value = 2.0} : f32[B, S, 8]
      %5 = mul %3, %4 : f32[B, S, 8]
      %6 = iota {axis = 2} : f32[B, S, 8]
      %7 = mul %5, %6 : f32[B, S, 8]
      %8 = add %7, %res : f32[B, S, 8]
      return %8
    })",
                R"(
    graph @linear(%x: f32[B*S, 8], %bias: f32[8], %res: f32[B, S, 8], %pos: f32[B], %seq: f32[S]) {
      %0 = neg %x : f32[B*S, 8]
      %1 = broadcast %bias {axes = [1]} : f32[B*S, 8]
      %2 = add %0, %1 : f32[B*S, 8]
      %3 = full {value = 2.0} : f32[B*S, 8]
      %4 = mul %2, %3 : f32[B*S, 8]
      %5 = iota {axis = 1} : f32[B*S, 8]
      %6 = mul %4, %5 : f32[B*S, 8]
      %7 = reshape %res : f32[B*S, 8]
      %8 = add %6, %7 : f32[B*S, 8]
      %9 = reshape %8 : f32[B, S, 8]
      return %9
    })");
}

TEST(SinkReshape, StaysAboveABroadcastThatSplitsAGroup) {
  // The scale repeats along one of the two axes that the reshape splits.
  expectNoRewrite(SinkReshape{}, R"(
    graph @f(%x: f32[12], %scale: f32[3]) {
      %0 = exp %x : f32[12]
      %1 = reshape %0 : f32[4, 3]
      %2 = exp %scale : f32[3]
      %3 = broadcast %2 {axes = [1]} : f32[4, 3]
      %4 = mul %1, %3 : f32[4, 3]
      return %4
    })");
}

TEST(SinkReshape, GoesToTheShapeWithFewerAxesForOtherValues) {
  expectRewrite(SinkReshape{}, R"(
    graph @f(%a: f32[6, 4], %b: f32[2, 3, 4]) {
      %0 = exp %a : f32[6, 4]
      %1 = reshape %0 : f32[2, 3, 4]
      %2 = exp %b : f32[2, 3, 4]
      %3 = sub %2, %1 : f32[2, 3, 4]
      return %3
    })",
                R"(
    graph @f(%a: f32[6, 4], %b: f32[2, 3, 4]) {
      %0 = exp %a : f32[6, 4]
      %1 = exp %b : f32[2, 3, 4]
      %2 = reshape %1 : f32[6, 4]
      %3 = sub %2, %0 : f32[6, 4]
      %4 = reshape %3 : f32[2, 3, 4]
      return %4
    })");
}

TEST(SinkReshape, CarriesANormalisationThroughToTheNextProduct) {
  expectRewrite(SinkReshape{}, R"(
    graph @norm(%x: f32[B*S, 8], %w: f32[8, 8], %like: f32[B, S]) {
      %0 = matmul %x, %w : f32[B*S, 8]
      %1 = reshape %0 : f32[B, S, 8]
      %2 = reduce %1 {kind = mean, axes = [2]} : f32[B, S]
      %3 = broadcast %2 {axes = [0, 1]} : f32[B, S, 8]
      %4 = sub %1, %3 : f32[B, S, 8]
      %5 = reshape %4 : f32[B*S, 8]
      %6 = matmul %5, %w : f32[B*S, 8]
      return %6
    })",
                R"(
    graph @norm(%x: f32[B*S, 8], %w: f32[8, 8], %like: f32[B, S]) {
      %0 = matmul %x, %w : f32[B*S, 8]
      %1 = reduce %0 {kind = mean, axes = [1]} : f32[B*S]
      %2 = broadcast %1 {axes = [0]} : f32[B*S, 8]
      %3 = sub %0, %2 : f32[B*S, 8]
      %4 = matmul %3, %w : f32[B*S, 8]
      return %4
    })");
}

TEST(SinkReshape, LeavesAFoldOfPartOfAGroup) {
  expectNoRewrite(SinkReshape{}, R"(
    graph @group(%x: f32[2, 12]) {
      %0 = exp %x : f32[2, 12]
      %1 = reshape %0 : f32[2, 3, 4]
      %2 = reduce %1 {kind = sum, axes = [2]} : f32[2, 3]
      return %2
    })");
}

TEST(SinkReshape, KeepsArgmaxPositions) {
  expectRewrite(SinkReshape{}, R"(
    graph @arg(%x: f32[2, 3, 4]) {
      %0 = abs %x : f32[2, 3, 4]
      %1 = reshape %0 : f32[2, 12]
      %2 = reduce %1 {kind = argmax, axes = [1]} : i64[2]
      return %2
    })",
                R"(
    graph @arg(%x: f32[2, 3, 4]) {
      %0 = abs %x : f32[2, 3, 4]
      %1 = reduce %0 {kind = argmax, axes = [1, 2]} : i64[2]
      return %1
    })");
}

TEST(SinkReshape, LeavesEmptyTensorsAlone) {
  expectNoRewrite(SinkReshape{}, R"(
    graph @empty(%x: f32[0, 3], %b: f32[5]) {
      %0 = exp %x : f32[0, 3]
      %1 = reshape %0 : f32[0, 5]
      %2 = broadcast %b {axes = [1]} : f32[0, 5]
      %3 = reduce %1 {kind = sum, axes = [1]} : f32[0]
      return %2, %3
    })");
}

}  // namespace
}  // namespace tokamak
