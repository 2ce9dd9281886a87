#include "passes/raise_reshape.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(RaiseReshape, OpsRunOverTheShapeOfTheFold) {
  expectRewrite(RaiseReshape{}, R"(
    graph @g(%x: f32[3, 6, 5], %y: f32[3, 6, 5], %w: f32[6]) {
      %0 = exp %x : f32[3, 6, 5]
      %1 = broadcast %w {axes = [1]} : f32[3, 6, 5]
      %2 = mul %0, %1 : f32[3, 6, 5]
      %3 = add %2, %y : f32[3, 6, 5]
      %4 = reshape %3 : f32[3, 2, 3, 5]
      %5 = reshape %2 : f32[3, 2, 3, 5]
      %6 = neg %4 : f32[3, 2, 3, 5]
      %7 = reduce %6 {kind = sum, axes = [2, 3]} : f32[3, 2]
      %8 = reduce %5 {kind = sum, axes = [2, 3]} : f32[3, 2]
      return %7, %8
    })",
                R"(
    graph @g(%x: f32[3, 6, 5], %y: f32[3, 6, 5], %w: f32[6]) {
      %0 = reshape %x : f32[3, 2, 3, 5]
      %1 = exp %0 : f32[3, 2, 3, 5]
      %2 = reshape %w : f32[2, 3]
      %3 = broadcast %2 {axes = [1, 2]} : f32[3, 2, 3, 5]
      %4 = mul %1, %3 : f32[3, 2, 3, 5]
      %5 = reshape %y : f32[3, 2, 3, 5]
      %6 = add %4, %5 : f32[3, 2, 3, 5]
      %7 = neg %6 : f32[3, 2, 3, 5]
      %8 = reduce %7 {kind = sum, axes = [2, 3]} : f32[3, 2]
      %9 = reduce %4 {kind = sum, axes = [2, 3]} : f32[3, 2]
      return %8, %9
    })");
}

TEST(RaiseReshape, LeavesWhatCanSink) {
  expectNoRewrite(RaiseReshape{}, R"(
    graph @g(%x: f32[3, 6, 5]) {
      %0 = exp %x : f32[3, 6, 5]
      %1 = reshape %0 : f32[3, 2, 3, 5]
      %2 = reduce %1 {kind = sum, axes = [1, 2]} : f32[3, 5]
      return %2
    })");
}

TEST(RaiseReshape, LeavesWhatOthersRead) {
  expectNoRewrite(RaiseReshape{}, R"(
    graph @g(%x: f32[3, 6, 5]) {
      %0 = exp %x : f32[3, 6, 5]
      %1 = reshape %0 : f32[3, 2, 3, 5]
      %2 = reduce %1 {kind = sum, axes = [2]} : f32[3, 2, 5]
      return %2, %0
    })");
}

TEST(RaiseReshape, LeavesWhatReadsComputedValues) {
  expectNoRewrite(RaiseReshape{}, R"(
    graph @g(%x: f32[3, 6, 5]) {
      %0 = scan %x {kind = sum, axis = 2} : f32[3, 6, 5]
      %1 = exp %0 : f32[3, 6, 5]
      %2 = reshape %1 : f32[3, 2, 3, 5]
      %3 = reduce %2 {kind = sum, axes = [2]} : f32[3, 2, 5]
      return %3
    })");
}

}  // namespace
}  // namespace tokamak
