#include "passes/fold_batch_norm.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(FoldBatchNorm, ScalesTheResultOfAConvolutionOnceAChannel) {
  expectRewrite(FoldBatchNorm{}, R"(
    graph @f(%x: f32[1, 1, 3, 3]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]} : f32[2, 1, 2, 2]
      %1 = conv %x, %0 {stride = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1]} : f32[1, 2, 2, 2]
      %2 = constant {data = [2.0, 3.0]} : f32[2]
      %3 = constant {data = [1.0, -1.0]} : f32[2]
      %4 = constant {data = [0.5, 0.0]} : f32[2]
      %5 = constant {data = [3.0, 8.0]} : f32[2]
      %6 = norm %1, %2, %3, %4, %5 {kind = batch, eps = 1.0, affine = true} : f32[1, 2, 2, 2]
      return %6
    })",
                R"(
    graph @f(%x: f32[1, 1, 3, 3]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]} : f32[2, 1, 2, 2]
      %1 = constant {data = [1.0, 1.0]} : f32[2]
      %2 = broadcast %1 {axes = [1]} : f32[1, 2, 2, 2]
      %3 = constant {data = [0.5, -1.0]} : f32[2]
      %4 = broadcast %3 {axes = [1]} : f32[1, 2, 2, 2]
      %5 = conv %x, %0 {stride = [1, 1], low = [0, 0], high = [0, 0], dilation = [1, 1]} : f32[1, 2, 2, 2]
      %6 = mul %5, %2 : f32[1, 2, 2, 2]
      %7 = add %6, %4 : f32[1, 2, 2, 2]
      return %7
    })");
}

TEST(FoldBatchNorm, ScalesProductsAndTakesTheirBiasIntoTheSummand) {
  expectRewrite(FoldBatchNorm{}, R"(
    graph @f(%x: f32[N, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = constant {data = [10.0, 20.0]} : f32[2]
      %2 = matmul %x, %0, %1 {transpose_b = true} : f32[N, 2]
      %3 = constant {data = [1.0, 2.0]} : f32[2]
      %4 = constant {data = [3.0, 0.0]} : f32[2]
      %5 = norm %2, %3, %4 {kind = batch, eps = 1.0} : f32[N, 2]
      %6 = matmul %5, %0 : f32[N, 2]
      %7 = norm %6, %3, %4 {kind = batch, eps = 1.0} : f32[N, 2]
      return %7
    })",
                R"(
    graph @f(%x: f32[N, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = constant {data = [0.5, 1.0]} : f32[2]
      %2 = broadcast %1 {axes = [1]} : f32[N, 2]
      %3 = constant {data = [4.5, 18.0]} : f32[2]
      %4 = broadcast %3 {axes = [1]} : f32[N, 2]
      %5 = matmul %x, %0 {transpose_b = true} : f32[N, 2]
      %6 = mul %5, %2 : f32[N, 2]
      %7 = add %6, %4 : f32[N, 2]
      %8 = constant {data = [0.5, 1.0]} : f32[2]
      %9 = broadcast %8 {axes = [1]} : f32[N, 2]
      %10 = constant {data = [-0.5, -2.0]} : f32[2]
      %11 = broadcast %10 {axes = [1]} : f32[N, 2]
      %12 = matmul %7, %0 : f32[N, 2]
      %13 = mul %12, %9 : f32[N, 2]
      %14 = add %13, %11 : f32[N, 2]
      return %14
    })");
}

TEST(FoldBatchNorm, LeavesHalves) {
  expectNoRewrite(FoldBatchNorm{}, R"(
    graph @halves(%x: bf16[N, 2], %w: bf16[2, 2]) {
      %0 = matmul %x, %w : bf16[N, 2]
      %1 = constant {data = [3.0, 0.0]} : bf16[2]
      %2 = norm %0, %1, %1 {kind = batch, eps = 1.0} : bf16[N, 2]
      return %2
    })");
}

TEST(FoldBatchNorm, LeavesUnknownParametersSharedProductsAndTraining) {
  expectNoRewrite(FoldBatchNorm{}, R"(
    graph @unknown(%x: f32[N, 2], %mean: f32[2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = matmul %x, %0 : f32[N, 2]
      %2 = constant {data = [3.0, 0.0]} : f32[2]
      %3 = norm %1, %mean, %2 {kind = batch, eps = 1.0} : f32[N, 2]
      return %3
    })");
  expectNoRewrite(FoldBatchNorm{}, R"(
    graph @shared(%x: f32[N, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = matmul %x, %0 : f32[N, 2]
      %2 = constant {data = [3.0, 0.0]} : f32[2]
      %3 = norm %1, %2, %2 {kind = batch, eps = 1.0} : f32[N, 2]
      return %1, %3
    })");
  expectNoRewrite(FoldBatchNorm{}, R"(
    graph @training(%x: f32[N, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = matmul %x, %0 : f32[N, 2]
      %2 = constant {data = [3.0, 0.0]} : f32[2]
      %3 = norm %1, %2, %2 {kind = batch, eps = 1.0, affine = true} : f32[N, 2]
      return %3
    })");
}

}  // namespace
}  // namespace tokamak
