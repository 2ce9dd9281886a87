#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu_plans/run.h"

namespace tokamak::gpu_plans {
namespace {

std::string product(std::string_view dtype, std::string_view m, std::string_view n, std::string_view k, bool ta,
                    bool tb) {
  const auto shape = [](std::string_view a, std::string_view b) { return fmt::format("{}, {}", a, b); };
  return fmt::format(R"(graph @g(%a: {0}[{1}], %b: {0}[{2}], %c: {0}[{4}], %r: {0}[{3}]) {{
    %0 = matmul %a, %b, %c {{transpose_a = {5}, transpose_b = {6}}} : {0}[{3}]
    %1 = add %0, %r : {0}[{3}]
    %2 = relu %1 : {0}[{3}]
    return %2
  }})",
                     dtype, ta ? shape(k, m) : shape(m, k), tb ? shape(n, k) : shape(k, n), shape(m, n), n, ta, tb);
}

TEST(GpuContract, TilesOfAProduct) {
  EXPECT_EQ(plansOf(product("f32", "32", "64", "16", false, false)), "contract: tiles 32x32x16\n");
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      plansOf(product("f32", "33", "19", "21", ta, tb));
      plansOf(product("bf16", "64", "32", "48", ta, tb));
      plansOf(product("f32", "M", "N", "K", ta, tb), {{"M", 35}, {"N", 5}, {"K", 17}},
              {.hints = {{"M", 4096}, {"N", 4096}}});
      plansOf(product("f32", "M", "N", "K", ta, tb), {{"M", 5}, {"N", 7}, {"K", 0}});
    }
  plansOf(product("f64", "3", "5", "40", false, true));
}

TEST(GpuContract, Batches) {
  plansOf(R"(graph @g(%a: f32[3, 2, 5, 7], %b: f32[3, 2, 7, 9], %w: f32[9, 4]) {
    %0 = matmul %a, %b : f32[3, 2, 5, 9]
    %1 = matmul %0, %w : f32[3, 2, 5, 4]
    return %1
  })");
}

TEST(GpuContract, Convolutions) {
  plansOf(R"(graph @g(%x: f32[2, 6, 9, 10], %w: f32[8, 3, 3, 2], %b: f32[8]) {
    %0 = conv %x, %w, %b {stride = [2, 1], low = [1, 0], high = [1, 1], dilation = [1, 2], groups = 2} : f32[2, 8, 5, 9]
    %1 = relu %0 : f32[2, 8, 5, 9]
    return %1
  })");
  plansOf(R"(graph @g(%x: f32[2, 9, 10, 6], %w: f32[8, 6, 3, 3]) {
    %0 = conv %x, %w {stride = [1, 1], low = [1, 1], high = [1, 1], dilation = [1, 1], channels_last = true} : f32[2, 9, 10, 8]
    return %0
  })");
}

TEST(GpuContract, Attention) {
  plansOf(R"(graph @g(%q: bf16[2, 17, 16], %k: bf16[2, 33, 16], %v: bf16[2, 33, 8]) {
    %0 = attention %q, %k, %v {causal = true} : bf16[2, 17, 8]
    return %0
  })");
}

TEST(GpuScatter, UpdatesInOrder) {
  for (const char* kind : {"set", "add", "mul", "max", "min"})
    for (const char* dtype : {"f32", "bf16", "i64"}) {
      plansOf(fmt::format(R"(graph @g(%x: {0}[9, 12], %i: i64[20, 12], %s: {0}[20, 12]) {{
        %0 = scatter %x, %i, %s {{axis = 0, kind = {1}}} : {0}[9, 12]
        return %0
      }})",
                          dtype, kind));
      plansOf(fmt::format(R"(graph @g(%x: {0}[9, 13], %i: i32[7, 20], %s: {0}[7, 20]) {{
        %0 = scatter %x, %i, %s {{axis = 1, kind = {1}}} : {0}[9, 13]
        %1 = neg %0 : {0}[9, 13]
        return %1
      }})",
                          dtype, kind));
    }
}

TEST(GpuScatter, BlocksOwnTheRowsOfATable) {
  for (const char* kind : {"set", "add", "max"})
    EXPECT_EQ(plansOf(fmt::format(R"(graph @g(%x: f32[3000, 12], %i: i64[2100], %s: f32[2100, 12]) {{
      %0 = broadcast %i {{axes = [0]}} : i64[2100, 12]
      %1 = scatter %x, %0, %s {{axis = 0, kind = {}}} : f32[3000, 12]
      return %1
    }})",
                                  kind)),
              "scatter: 4 lanes copied, then 1056 owners, 256 threads, 4 lanes\n");
  plansOf(R"(graph @g(%x: bf16[2, 30], %i: i32[2, 1500], %s: bf16[2, 1500]) {
    %0 = scatter %x, %i, %s {axis = 1, kind = add} : bf16[2, 30]
    return %0
  })");
  plansOf(R"(graph @g(%x: f32[M, N], %i: i64[K], %s: f32[K, N]) {
    %0 = broadcast %i {axes = [0]} : i64[K, N]
    %1 = scatter %x, %0, %s {axis = 0, kind = add} : f32[M, N]
    return %1
  })",
          {{"M", 7}, {"N", 33}, {"K", 1100}});
}

}  // namespace
}  // namespace tokamak::gpu_plans
