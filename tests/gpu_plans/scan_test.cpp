#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

std::string scan(std::string_view kind, std::string_view dtype, std::string_view result, std::string_view shape,
                 int axis, bool reverse = false) {
  return fmt::format(R"(graph @g(%x: {1}[{3}]) {{
    %0 = neg %x : {1}[{3}]
    %1 = scan %0 {{kind = {0}, axis = {4}, reverse = {5}}} : {2}[{3}]
    return %1
  }})",
                     kind, dtype, result, shape, axis, reverse);
}

TEST(GpuScan, ThreadsShareARow) {
  EXPECT_EQ(plansOf(scan("sum", "f32", "f32", "5, 4", 1)), "scan: rows, 1 threads x 32, 4 lanes\n");
  EXPECT_EQ(plansOf(scan("sum", "f32", "f32", "37, 40", 1)), "scan: rows, 16 threads x 2, 4 lanes\n");
  EXPECT_EQ(plansOf(scan("sum", "bf16", "bf16", "3, 4096", 1)), "scan: rows, 512 threads, 8 lanes\n");
  EXPECT_EQ(plansOf(scan("sum", "f32", "f32", "1, 9000", 1)), "scan: rows, 512 threads, 4 lanes\n");
}

TEST(GpuScan, EveryKindAndDirection) {
  for (const char* shape : {"7, 1", "5, 33", "3, 129", "2, 4100"})
    for (bool reverse : {false, true}) {
      for (const char* kind : {"sum", "prod", "max", "min"}) plansOf(scan(kind, "f32", "f32", shape, 1, reverse));
      for (const char* kind : {"argmax", "argmin"}) {
        plansOf(scan(kind, "f16", "i64", shape, 1, reverse));
        plansOf(scan(kind, "i32", "i64", shape, 1, reverse));
      }
      plansOf(scan("sum", "i16", "i64", shape, 1, reverse));
    }
}

TEST(GpuScan, LanesCarryColumns) {
  EXPECT_EQ(plansOf(scan("sum", "f32", "f32", "33, 8", 0)), "scan: columns, 64 threads, 4 lanes\n");
  for (bool reverse : {false, true})
    for (const char* kind : {"prod", "max"}) {
      plansOf(scan(kind, "f32", "f32", "5, 33, 7", 1, reverse));
      plansOf(scan(kind, "bf16", "bf16", "2, 6, 1, 8", 1, reverse));
    }
  plansOf(scan("argmax", "f32", "i64", "11, 9", 0));
}

TEST(GpuScan, AnySize) {
  for (int64_t n : {0, 1, 31, 200, 5000}) {
    plansOf(scan("sum", "f32", "f32", "M, N", 1), {{"M", 3}, {"N", n}});
    plansOf(scan("max", "f32", "f32", "M, N", 0), {{"M", n % 77}, {"N", 5}});
  }
}

}  // namespace
}  // namespace tokamak::gpu_plans
