#include "passes/cast_cleanup.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(CastCleanup, DropsSyntheticPairs) {
  expectRewrite(CastCleanup{}, R"(
    graph @f(%x: bf16[4]) {
      %0 = cast %x {synthetic = true} : f32[4]
      %1 = exp %0 : f32[4]
      %2 = cast %1 {synthetic = true} : bf16[4]
      %3 = cast %2 {synthetic = true} : f32[4]
      %4 = exp %3 : f32[4]
      %5 = cast %4 {synthetic = true} : bf16[4]
      return %2, %5
    })",
                R"(
    graph @f(%x: bf16[4]) {
      %0 = cast %x {synthetic = true} : f32[4]
      %1 = exp %0 : f32[4]
      %2 = cast %1 {synthetic = true} : bf16[4]
      %3 = exp %1 : f32[4]
      %4 = cast %3 {synthetic = true} : bf16[4]
      return %2, %4
    })");
}

TEST(CastCleanup, KeepsEveryCastTheProgramWrote) {
  expectNoRewrite(CastCleanup{}, R"(
    graph @f(%x: f32[4]) {
      %0 = cast %x : bf16[4]
      %1 = cast %0 {synthetic = true} : f32[4]
      %2 = exp %1 : f32[4]
      %3 = cast %2 {synthetic = true} : bf16[4]
      %4 = cast %3 : f32[4]
      %5 = cast %4 : bf16[4]
      %6 = cast %5 : f32[4]
      return %6
    })");
}

}  // namespace
}  // namespace tokamak
