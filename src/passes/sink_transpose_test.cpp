#include "passes/sink_transpose.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(SinkTranspose, MergesUnderElementwise) {
  expectRewrite(SinkTranspose{}, R"(
    graph @add(%a: f32[M, 4], %b: f32[M, 4], %c: f32[M]) {
      %0 = transpose %a {perm = [1, 0]} : f32[4, M]
      %1 = transpose %b {perm = [1, 0]} : f32[4, M]
      %2 = add %0, %1 : f32[4, M]
      %3 = broadcast %c {axes = [1]} : f32[4, M]
      %4 = mul %2, %3 : f32[4, M]
      %5 = full {value = 0.5} : f32[4, M]
      %6 = gt %4, %5 : bool[4, M]
      %7 = select %6, %4, %5 : f32[4, M]
      return %7
    })",
                R"(
    graph @add(%a: f32[M, 4], %b: f32[M, 4], %c: f32[M]) {
      %0 = add %a, %b : f32[M, 4]
      %1 = broadcast %c {axes = [0]} : f32[M, 4]
      %2 = mul %0, %1 : f32[M, 4]
      %3 = full {value = 0.5} : f32[M, 4]
      %4 = gt %2, %3 : bool[M, 4]
      %5 = full {value = 0.5} : f32[M, 4]
      %6 = select %4, %2, %5 : f32[M, 4]
      %7 = transpose %6 {perm = [1, 0]} : f32[4, M]
      return %7
    })");
}

TEST(SinkTranspose, GoesBelowWhatMovesElements) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[2, 3, 4]) {
      %0 = transpose %a {perm = [0, 2, 1]} : f32[2, 4, 3]
      %1 = pad %0 {low = [0, 1, 0], high = [0, 0, 2], value = 0.0} : f32[2, 5, 5]
      %2 = slice %1 {start = [0, 1, 0], stride = [1, 2, 1]} : f32[2, 2, 3]
      %3 = flip %2 {axes = [1]} : f32[2, 2, 3]
      %4 = transpose %3 {perm = [0, 2, 1]} : f32[2, 3, 2]
      %5 = concat %4, %4 {axis = 2} : f32[2, 3, 4]
      return %5
    })",
                R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[2, 3, 4]) {
      %0 = pad %a {low = [0, 0, 1], high = [0, 2, 0], value = 0.0} : f32[2, 5, 5]
      %1 = slice %0 {start = [0, 0, 1], stride = [1, 1, 2]} : f32[2, 3, 2]
      %2 = flip %1 {axes = [2]} : f32[2, 3, 2]
      %3 = concat %2, %2 {axis = 2} : f32[2, 3, 4]
      return %3
    })");
}

TEST(SinkTranspose, CancelsOnTheWay) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4]) {
      %0 = transpose %a {perm = [2, 0, 1]} : f32[4, 2, 3]
      %1 = exp %0 : f32[4, 2, 3]
      %2 = transpose %1 {perm = [1, 2, 0]} : f32[2, 3, 4]
      return %2
    })",
                R"(
    graph @f(%a: f32[2, 3, 4]) {
      %0 = exp %a : f32[2, 3, 4]
      return %0
    })");
}

TEST(SinkTranspose, StaysWhereAnotherOperandHasTheOrder) {
  expectNoRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[3, 4], %b: f32[4, 3]) {
      %0 = transpose %a {perm = [1, 0]} : f32[4, 3]
      %1 = add %0, %b : f32[4, 3]
      return %1
    })");
}

TEST(SinkTranspose, TransposesTheSmallOperandOfABroadcast) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[4, 2]) {
      %0 = transpose %a {perm = [2, 0, 1]} : f32[4, 2, 3]
      %1 = broadcast %b {axes = [0, 1]} : f32[4, 2, 3]
      %2 = mul %0, %1 : f32[4, 2, 3]
      return %2
    })",
                R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[4, 2]) {
      %0 = transpose %b {perm = [1, 0]} : f32[2, 4]
      %1 = broadcast %0 {axes = [0, 2]} : f32[2, 3, 4]
      %2 = mul %a, %1 : f32[2, 3, 4]
      %3 = transpose %2 {perm = [2, 0, 1]} : f32[4, 2, 3]
      return %3
    })");
}

TEST(SinkTranspose, BecomesAFlagOfMatMul) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[2, 3, 5], %w: f32[6, 5], %bias: f32[6]) {
      %0 = transpose %a {perm = [0, 2, 1]} : f32[2, 4, 3]
      %1 = matmul %0, %b : f32[2, 4, 5]
      %2 = transpose %w {perm = [1, 0]} : f32[5, 6]
      %3 = matmul %1, %2, %bias : f32[2, 4, 6]
      return %3
    })",
                R"(
    graph @f(%a: f32[2, 3, 4], %b: f32[2, 3, 5], %w: f32[6, 5], %bias: f32[6]) {
      %0 = matmul %a, %b {transpose_a = true} : f32[2, 4, 5]
      %1 = matmul %0, %w, %bias {transpose_b = true} : f32[2, 4, 6]
      return %1
    })");
}

TEST(SinkTranspose, DoesNotFoldOtherPermutationsIntoMatMul) {
  expectNoRewrite(SinkTranspose{}, R"(
    graph @heads(%q: f32[2, 5, 3, 4], %k: f32[2, 5, 3, 4]) {
      %0 = transpose %q {perm = [0, 2, 1, 3]} : f32[2, 3, 5, 4]
      %1 = transpose %k {perm = [0, 2, 1, 3]} : f32[2, 3, 5, 4]
      %2 = matmul %0, %1 {transpose_b = true} : f32[2, 3, 5, 5]
      return %2
    })");
}

TEST(SinkTranspose, FoldsReadBelowIt) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4]) {
      %0 = transpose %a {perm = [2, 1, 0]} : f32[4, 3, 2]
      %1 = reduce %0 {kind = max, axes = [0]} : f32[3, 2]
      return %1
    })",
                R"(
    graph @f(%a: f32[2, 3, 4]) {
      %0 = reduce %a {kind = max, axes = [2]} : f32[2, 3]
      %1 = transpose %0 {perm = [1, 0]} : f32[3, 2]
      return %1
    })");
}

TEST(SinkTranspose, KeepsArgmaxOverTwoAxesInOrder) {
  expectNoRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[2, 3, 4]) {
      %0 = transpose %a {perm = [2, 1, 0]} : f32[4, 3, 2]
      %1 = reduce %0 {kind = argmax, axes = [0, 1]} : i64[2]
      return %1
    })");
}

TEST(SinkTranspose, LeavesAFoldOfASharedTranspose) {
  expectNoRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[3, 4]) {
      %0 = transpose %a {perm = [1, 0]} : f32[4, 3]
      %1 = reduce %0 {kind = sum, axes = [1]} : f32[4]
      return %0, %1
    })");
}

TEST(SinkTranspose, GoesBelowANormWhoseFoldsAndShiftShareIt) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[3, 4]) {
      %0 = transpose %a {perm = [1, 0]} : f32[4, 3]
      %1 = reduce %0 {kind = mean, axes = [1]} : f32[4]
      %2 = reduce %0 {kind = max, axes = [1]} : f32[4]
      %3 = broadcast %1 {axes = [0]} : f32[4, 3]
      %4 = sub %0, %3 : f32[4, 3]
      return %4, %2
    })",
                R"(
    graph @f(%a: f32[3, 4]) {
      %0 = reduce %a {kind = mean, axes = [0]} : f32[4]
      %1 = reduce %a {kind = max, axes = [0]} : f32[4]
      %2 = broadcast %0 {axes = [1]} : f32[3, 4]
      %3 = sub %a, %2 : f32[3, 4]
      %4 = transpose %3 {perm = [1, 0]} : f32[4, 3]
      return %4, %1
    })");
}

TEST(SinkTranspose, MovesOfUnitAxesAreReshapes) {
  expectRewrite(SinkTranspose{}, R"(
    graph @f(%a: f32[1, 3, 4]) {
      %0 = transpose %a {perm = [1, 0, 2]} : f32[3, 1, 4]
      %1 = exp %0 : f32[3, 1, 4]
      return %1
    })",
                R"(
    graph @f(%a: f32[1, 3, 4]) {
      %0 = reshape %a : f32[3, 1, 4]
      %1 = exp %0 : f32[3, 1, 4]
      return %1
    })");
}

}  // namespace
}  // namespace tokamak
