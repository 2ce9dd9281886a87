#include "passes/stage_folds.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(StageFolds, FoldsOverDifferentAxesShareTheirRows) {
  expectRewrite(StageFolds{}, R"(
    graph @g(%x: f32[4, 16, 4, 256]) {
      %0 = exp %x : f32[4, 16, 4, 256]
      %1 = reduce %0 {kind = mean, axes = [2, 3]} : f32[4, 16]
      %2 = mul %0, %x : f32[4, 16, 4, 256]
      %3 = reduce %2 {kind = sum, axes = [0, 3]} : f32[16, 4]
      %4 = reduce %x {kind = sum, axes = [3]} : f32[4, 16, 4]
      return %1, %3, %4
    })",
                R"(
    graph @g(%x: f32[4, 16, 4, 256]) {
      %0 = exp %x : f32[4, 16, 4, 256]
      %1 = reduce %0 {kind = mean, axes = [3]} : f32[4, 16, 4]
      %2 = reduce %1 {kind = mean, axes = [2]} : f32[4, 16]
      %3 = mul %0, %x : f32[4, 16, 4, 256]
      %4 = reduce %3 {axes = [3]} : f32[4, 16, 4]
      %5 = reduce %4 {axes = [0]} : f32[16, 4]
      %6 = reduce %x {axes = [3]} : f32[4, 16, 4]
      return %2, %5, %6
    })");
}

TEST(StageFolds, RowsAreThoseBelowAReshape) {
  expectRewrite(StageFolds{}, R"(
    graph @g(%x: f32[4, 64, 16, 16]) {
      %0 = reduce %x {kind = sum, axes = [0, 2, 3]} : f32[64]
      %1 = reshape %x : f32[4, 16, 4, 16, 16]
      %2 = reduce %1 {kind = sum, axes = [2, 3, 4]} : f32[4, 16]
      return %0, %2
    })",
                R"(
    graph @g(%x: f32[4, 64, 16, 16]) {
      %0 = reduce %x {axes = [2, 3]} : f32[4, 64]
      %1 = reduce %0 {axes = [0]} : f32[64]
      %2 = reduce %x {axes = [2, 3]} : f32[4, 64]
      %3 = reshape %2 : f32[4, 16, 4]
      %4 = reduce %3 {axes = [2]} : f32[4, 16]
      return %1, %4
    })");
}

TEST(StageFolds, LeavesFoldsThatGoTheSameWay) {
  expectNoRewrite(StageFolds{}, R"(
    graph @g(%x: f32[4, 64, 256]) {
      %0 = exp %x : f32[4, 64, 256]
      %1 = reduce %x {kind = sum, axes = [0, 2]} : f32[64]
      %2 = reduce %0 {kind = sum, axes = [0, 2]} : f32[64]
      return %1, %2
    })");
}

TEST(StageFolds, LeavesFoldsThatNeedOneAnother) {
  expectNoRewrite(StageFolds{}, R"(
    graph @g(%x: f32[4, 64, 256]) {
      %0 = reduce %x {kind = mean, axes = [0, 2]} : f32[64]
      %1 = broadcast %0 {axes = [1]} : f32[4, 64, 256]
      %2 = sub %x, %1 : f32[4, 64, 256]
      %3 = reduce %2 {kind = sum, axes = [2]} : f32[4, 64]
      return %3
    })");
}

TEST(StageFolds, LeavesHalvesAndShortRowsAndOtherData) {
  expectNoRewrite(StageFolds{}, R"(
    graph @g(%x: bf16[4, 64, 256], %y: f32[64, 64, 8], %z: f32[4, 64, 256], %w: f32[4, 64, 256]) {
      %0 = reduce %x {kind = sum, axes = [0, 2]} : bf16[64]
      %1 = reduce %x {kind = sum, axes = [2]} : bf16[4, 64]
      %2 = reduce %y {kind = sum, axes = [0, 2]} : f32[64]
      %3 = reduce %y {kind = sum, axes = [2]} : f32[64, 64]
      %4 = reduce %z {kind = sum, axes = [0, 2]} : f32[64]
      %5 = reduce %w {kind = sum, axes = [2]} : f32[4, 64]
      return %0, %1, %2, %3, %4, %5
    })");
}

}  // namespace
}  // namespace tokamak
