#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

std::string transposed(std::string_view dtype, std::string_view m, std::string_view n) {
  return fmt::format(R"(graph @g(%x: {0}[{1}, {2}], %y: {0}[{2}, {1}]) {{
    %0 = transpose %x {{perm = [1, 0]}} : {0}[{2}, {1}]
    %1 = add %0, %y : {0}[{2}, {1}]
    return %1
  }})",
                     dtype, m, n);
}

TEST(GpuTranspose, GoesThroughSharedMemory) {
  EXPECT_EQ(plansOf(transposed("f32", "128", "192")), "transpose: 256 threads, tiles 64x64, 4 lanes\n");
  EXPECT_EQ(plansOf(transposed("bf16", "130", "70")), "transpose: 256 threads, tiles 64x64, 2 lanes\n");
  EXPECT_EQ(plansOf(transposed("f32", "8", "3000")), "transpose: 256 threads, tiles 512x8, 4 lanes\n");
  EXPECT_EQ(plansOf(transposed("f64", "3000", "9")), "transpose: 256 threads, tiles 16x256, 2 lanes\n");
}

TEST(GpuTranspose, TilesAtTheEdges) {
  for (const char* dtype : {"f32", "bf16", "u8"}) {
    plansOf(transposed(dtype, "67", "129"));
    plansOf(transposed(dtype, "64", "5"));
    plansOf(transposed(dtype, "M", "N"), {{"M", 70}, {"N", 33}});
    plansOf(transposed(dtype, "M", "N"), {{"M", 0}, {"N", 33}});
  }
}

TEST(GpuTranspose, OfSomeAxes) {
  plansOf(R"(graph @g(%x: bf16[3, 40, 5, 16]) {
    %0 = transpose %x {perm = [0, 2, 3, 1]} : bf16[3, 5, 16, 40]
    %1 = neg %0 : bf16[3, 5, 16, 40]
    return %1
  })");
  plansOf(R"(graph @g(%x: f32[20, 30], %z: f32[30, 20]) {
    %0 = transpose %x {perm = [1, 0]} : f32[30, 20]
    %1 = transpose %z {perm = [1, 0]} : f32[20, 30]
    %2 = add %x, %1 : f32[20, 30]
    %3 = mul %0, %z : f32[30, 20]
    return %2, %3
  })");
}

}  // namespace
}  // namespace tokamak::gpu_plans
