#include "passes/dce.h"

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

TEST(DeadCodeElimination, RemovesWhatNoOutputNeeds) {
  expectRewrite(DeadCodeElimination{}, R"(
    graph @f(%x: f32[4], %unused: f32[4]) {
      %0 = exp %x : f32[4]
      %1 = neg %x : f32[4]
      %2 = add %1, %x : f32[4]
      return %0
    })",
                R"(
    graph @f(%x: f32[4], %unused: f32[4]) {
      %0 = exp %x : f32[4]
      return %0
    })");
}

}  // namespace
}  // namespace tokamak
