#include "passes/fold_constants.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(FoldConstants, FoldsScalarsAndFulls) {
  expectRewrite(FoldConstants{}, R"(
    graph @f(%x: f32[N, 4]) {
      %0 = full {value = 64.0} : f32[]
      %1 = rsqrt %0 : f32[]
      %2 = broadcast %1 {axes = []} : f32[N, 4]
      %3 = full {value = 3.0} : f32[N, 4]
      %4 = full {value = 2.0} : f32[N, 4]
      %5 = mul %3, %4 : f32[N, 4]
      %6 = add %2, %5 : f32[N, 4]
      %7 = full {value = 1.0} : f32[100000]
      %8 = reduce %7 {kind = sum, axes = [0]} : f32[]
      return %6, %8
    })",
                R"(
    graph @f(%x: f32[N, 4]) {
      %0 = full {value = 6.125} : f32[N, 4]
      %1 = full {value = 100000.0} : f32[]
      return %0, %1
    })");
}

TEST(FoldConstants, LeavesTransposesOfLowRank) {
  expectNoRewrite(FoldConstants{}, R"(
    graph @f(%x: f32[4], %y: f32[]) {
      %0 = transpose %x {perm = [0]} : f32[4]
      %1 = transpose %y {perm = []} : f32[]
      return %0, %1
    })");
}

TEST(FoldConstants, EvaluatesSmallConstants) {
  expectRewrite(FoldConstants{}, R"(
    graph @f(%x: f32[2, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = transpose %0 {perm = [1, 0]} : f32[2, 2]
      %2 = add %x, %1 : f32[2, 2]
      %3 = constant {data = [100, 100]} : i8[2]
      %4 = add %3, %3 : i8[2]
      return %2, %4
    })",
                R"(
    graph @f(%x: f32[2, 2]) {
      %0 = constant {data = [1.0, 3.0, 2.0, 4.0]} : f32[2, 2]
      %1 = add %x, %0 : f32[2, 2]
      %2 = full {value = -56} : i8[2]
      return %1, %2
    })");
}

TEST(FoldConstants, NeverMaterialisesWhatIsCheapToCompute) {
  expectNoRewrite(FoldConstants{}, R"(
    graph @f(%s: f32[M]) {
      %0 = iota {axis = 0} : i32[64, 64]
      %1 = iota {axis = 1} : i32[64, 64]
      %2 = le %1, %0 : bool[64, 64]
      %3 = constant {data = [1.0, 2.0]} : f32[2]
      %4 = broadcast %3 {axes = [1]} : f32[1000, 2]
      %5 = full {value = 1.0} : f32[M]
      %6 = reduce %5 {kind = sum, axes = [0]} : f32[]
      return %2, %4, %6
    })");
}

TEST(FoldConstants, LeavesTransposesToProducts) {
  expectNoRewrite(FoldConstants{}, R"(
    graph @f(%x: f32[1, 2]) {
      %0 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[2, 2]
      %1 = transpose %0 {perm = [1, 0]} : f32[2, 2]
      %2 = matmul %x, %1 : f32[1, 2]
      return %2
    })");
}

TEST(FoldConstants, LeavesHalvesThatWouldRound) {
  expectRewrite(FoldConstants{}, R"(
    graph @f(%x: bf16[]) {
      %0 = full {value = 3.0} : bf16[]
      %1 = reciprocal %0 : bf16[]
      %2 = mul %0, %0 : bf16[]
      return %1, %2
    })",
                R"(
    graph @f(%x: bf16[]) {
      %0 = full {value = 3.0} : bf16[]
      %1 = reciprocal %0 : bf16[]
      %2 = full {value = 9.0} : bf16[]
      return %1, %2
    })");
}

TEST(FoldConstants, LeavesFoldsOfNothing) {
  expectRewrite(FoldConstants{}, R"(
    graph @f(%x: f32[]) {
      %0 = full {value = 2.0} : f32[3]
      %1 = reduce %0 {kind = max, axes = [0]} : f32[]
      %2 = full {value = 2.0} : f32[0]
      %3 = reduce %2 {kind = mean, axes = [0]} : f32[]
      return %1, %3
    })",
                R"(
    graph @f(%x: f32[]) {
      %0 = full {value = 2.0} : f32[]
      %1 = full {value = 2.0} : f32[0]
      %2 = reduce %1 {kind = mean, axes = [0]} : f32[]
      return %0, %2
    })");
}

}  // namespace
}  // namespace tokamak
