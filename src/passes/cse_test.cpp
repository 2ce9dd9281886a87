#include "passes/cse.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(CommonSubexpressions, SharesEqualNodes) {
  expectRewrite(CommonSubexpressions{}, R"(
    graph @f(%x: f32[4], %s: i64[]) {
      %0 = exp %x : f32[4]
      %1 = exp %x : f32[4]
      %2 = add %0, %1 : f32[4]
      %3 = add %1, %0 : f32[4]
      %4 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[4]
      %5 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[4]
      %6 = add %4, %5 : f32[4]
      %7 = random %s, %s {kind = uniform} : f32[4]
      %8 = random %s, %s {kind = uniform} : f32[4]
      %9 = add %7, %8 : f32[4]
      return %2, %3, %6, %9
    })",
                R"(
    graph @f(%x: f32[4], %s: i64[]) {
      %0 = exp %x : f32[4]
      %1 = add %0, %0 : f32[4]
      %2 = constant {data = [1.0, 2.0, 3.0, 4.0]} : f32[4]
      %3 = add %2, %2 : f32[4]
      %4 = random %s, %s {kind = uniform} : f32[4]
      %5 = add %4, %4 : f32[4]
      return %1, %1, %3, %5
    })");
}

TEST(CommonSubexpressions, TellsTypesAndZerosApart) {
  expectNoRewrite(CommonSubexpressions{}, R"(
    graph @f(%x: f32[4]) {
      %0 = cast %x : f16[4]
      %1 = cast %x : bf16[4]
      %2 = full {value = 0.0} : f32[4]
      %3 = full {value = -0.0} : f32[4]
      %4 = full {value = 0.0} : f32[2]
      %5 = reshape %x : f32[2, 2]
      %6 = reshape %x : f32[1, 4]
      return %0, %1, %2, %3, %4, %5, %6
    })");
}

}  // namespace
}  // namespace tokamak
