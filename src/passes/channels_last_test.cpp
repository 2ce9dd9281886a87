#include "passes/channels_last.h"

#include "passes/expect_rewrite.h"
#include "passes/sink_transpose.h"

namespace tokamak {
namespace {

TEST(ChannelsLast, TurnsTheConvolution) {
  expectRewrite(ChannelsLast{}, R"(
    graph @f(%x: f32[N, 16, 8, 9], %w: f32[32, 16, 3, 3], %b: f32[32]) {
      %0 = conv %x, %w, %b {stride = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1]} : f32[N, 32, 6, 7]
      return %0
    })",
                R"(
    graph @f(%x: f32[N, 16, 8, 9], %w: f32[32, 16, 3, 3], %b: f32[32]) {
      %0 = transpose %x {perm = [0, 2, 3, 1]} : f32[N, 8, 9, 16]
      %1 = conv %0, %w, %b {stride = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1], channels_last = true} : f32[N, 6, 7, 32]
      %2 = transpose %1 {perm = [0, 3, 1, 2]} : f32[N, 32, 6, 7]
      return %2
    })");
}

TEST(ChannelsLast, LeavesOtherTypesAndTurnedOnes) {
  expectNoRewrite(ChannelsLast{{DType::bf16}}, R"(
    graph @f(%x: f32[N, 16, 8], %w: f32[32, 16, 3], %y: bf16[N, 8, 16], %v: bf16[32, 16, 3]) {
      %0 = conv %x, %w {stride = [1], low = [0], high = [0], dilation = [1]} : f32[N, 32, 6]
      %1 = conv %y, %v {stride = [1], low = [0], high = [0], dilation = [1], channels_last = true} : bf16[N, 6, 32]
      return %0, %1
    })");
}

}  // namespace
}  // namespace tokamak
