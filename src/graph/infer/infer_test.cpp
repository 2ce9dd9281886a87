#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/graph.h"

namespace tokamak {
namespace {

/// "ok", or the code of the complaint about `statement` in a graph with these inputs.
std::string check(std::string_view inputs, std::string_view statement) {
  const std::string text = fmt::format("graph @f({}) {{\n  %result = {}\n  return %result\n}}", inputs, statement);
  const auto graph = parseGraph(text);
  if (graph) return "ok";
  EXPECT_FALSE(graph.error().hint.empty()) << graph.error().str();
  EXPECT_EQ(graph.error().location.line, 2) << graph.error().str() << "\n" << text;
  return graph.error().code;
}

TEST(Infer, ElementwiseWantsOneTypeAndADefinedFunction) {
  const char* in = "%x: f32[M, 4], %y: f32[M, 4], %n: f32[N, 4], %i: i32[M, 4], %c: bool[M, 4], %h: f16[M, 4]";
  EXPECT_EQ(check(in, "add %x, %y : f32[M, 4]"), "ok");
  EXPECT_EQ(check(in, "add %x, %n : f32[M, 4]"), "T0203");
  EXPECT_EQ(check(in, "add %x, %h : f32[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "lt %x, %y : bool[M, 4]"), "ok");
  EXPECT_EQ(check(in, "lt %x, %y : f32[M, 4]"), "T0205");
  EXPECT_EQ(check(in, "sub %c, %c : bool[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "add %c, %c : bool[M, 4]"), "ok");
  EXPECT_EQ(check(in, "and %x, %x : f32[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "shl %i, %i : i32[M, 4]"), "ok");
  EXPECT_EQ(check(in, "exp %i : i32[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "isnan %i : bool[M, 4]"), "ok");
  EXPECT_EQ(check(in, "neg %x, %y : f32[M, 4]"), "T0201");
  EXPECT_EQ(check(in, "select %c, %x, %y : f32[M, 4]"), "ok");
  EXPECT_EQ(check(in, "select %x, %x, %y : f32[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "select %c, %x, %i : f32[M, 4]"), "T0202");
  EXPECT_EQ(check(in, "clamp %x, %y, %n : f32[M, 4]"), "T0203");
  EXPECT_EQ(check(in, "cast %i : f64[M, 4]"), "ok");
  EXPECT_EQ(check(in, "cast %i : f64[4, M]"), "T0205");
  EXPECT_EQ(check(in, "cast %i {synthetic = true} : f64[M, 4]"), "T0202");
}

TEST(Infer, Sources) {
  const char* in = "%s: i64[], %x: f32[M, 4]";
  EXPECT_EQ(check(in, "full {value = 3} : u8[M]"), "ok");
  EXPECT_EQ(check(in, "full {value = 256} : u8[M]"), "T0210");
  EXPECT_EQ(check(in, "full {value = -1} : u8[M]"), "T0210");
  EXPECT_EQ(check(in, "full {value = 2} : bool[M]"), "T0210");
  EXPECT_EQ(check(in, "full {value = 1} : f16[0, M]"), "ok");
  EXPECT_EQ(check(in, "iota {axis = 1} : f32[M, 4]"), "ok");
  EXPECT_EQ(check(in, "iota {axis = 0} : i64[]"), "T0204");
  EXPECT_EQ(check(in, "iota {axis = -1} : i64[4]"), "T0204");
  EXPECT_EQ(check(in, "iota {axis = 0} : bool[4]"), "T0202");
  EXPECT_EQ(check(in, "constant : f32[0]"), "T0204");
  EXPECT_EQ(check(in, "random %s, %s {kind = bits} : i64[M]"), "ok");
  EXPECT_EQ(check(in, "random %s, %s {kind = bits} : f32[M]"), "T0205");
  EXPECT_EQ(check(in, "random %s, %s {kind = uniform} : i64[M]"), "T0205");
  EXPECT_EQ(check(in, "random %s, %x {kind = uniform} : f32[M]"), "T0202");
}

TEST(Infer, Folds) {
  const char* in = "%x: f32[M, 4, 0], %i: i8[M, 4], %c: bool[M, 4], %s: f32[]";
  EXPECT_EQ(check(in, "reduce %x {kind = sum, axes = [0, 2]} : f32[4]"), "ok");
  EXPECT_EQ(check(in, "reduce %x {kind = max, axes = [2]} : f32[M, 4]"), "T0203");
  EXPECT_EQ(check(in, "reduce %x {kind = max, axes = [0]} : f32[4, 0]"), "ok");
  EXPECT_EQ(check(in, "reduce %i {kind = sum, axes = [0]} : i64[4]"), "ok");
  EXPECT_EQ(check(in, "reduce %i {kind = max, axes = [0]} : i8[4]"), "ok");
  EXPECT_EQ(check(in, "reduce %i {kind = mean, axes = [0]} : i8[4]"), "T0202");
  EXPECT_EQ(check(in, "reduce %i {kind = any, axes = [0]} : bool[4]"), "ok");
  EXPECT_EQ(check(in, "reduce %i {kind = argmin, axes = [0, 1]} : i64[]"), "ok");
  EXPECT_EQ(check(in, "reduce %c {kind = prod, axes = [0, 1]} : i64[]"), "ok");
  EXPECT_EQ(check(in, "reduce %i {kind = sum} : i64[]"), "T0204");
  EXPECT_EQ(check(in, "reduce %i {kind = sum, axes = [0, 0]} : i64[]"), "T0204");
  EXPECT_EQ(check(in, "reduce %s {kind = sum, axes = [0]} : f32[]"), "T0204");
  EXPECT_EQ(check(in, "reduce %x {kind = sum, axes = [0], correction = 1} : f32[4, 0]"), "T0204");
  EXPECT_EQ(check(in, "reduce %x {kind = var, axes = [0], correction = 1} : f32[4, 0]"), "ok");
  EXPECT_EQ(check(in, "scan %i {kind = sum, axis = 1} : i64[M, 4]"), "ok");
  EXPECT_EQ(check(in, "scan %i {kind = max, axis = 1} : i8[M, 4]"), "ok");
  EXPECT_EQ(check(in, "scan %i {kind = argmax, axis = 2} : i64[M, 4]"), "T0204");
}

TEST(Infer, ShapesWithSymbols) {
  const char* in = "%x: f32[M, 64], %r: f32[64], %u: f32[1, 64], %n: f32[N], %s: f32[]";
  EXPECT_EQ(check(in, "broadcast %r {axes = [1]} : f32[M, 64]"), "ok");
  EXPECT_EQ(check(in, "broadcast %u {axes = [0, 2]} : f32[M, 3, 64]"), "ok");
  EXPECT_EQ(check(in, "broadcast %s : f32[M, 64]"), "ok");
  EXPECT_EQ(check(in, "broadcast %r {axes = [0]} : f32[M, 64]"), "T0203");
  EXPECT_EQ(check(in, "broadcast %n {axes = [0]} : f32[M]"), "T0203");
  EXPECT_EQ(check(in, "broadcast %r : f32[M, 64]"), "T0204");
  EXPECT_EQ(check(in, "broadcast %u {axes = [1, 0]} : f32[64, 1]"), "T0204");
  EXPECT_EQ(check(in, "broadcast %r {axes = [1]} : f16[M, 64]"), "T0205");
  EXPECT_EQ(check(in, "reshape %x : f32[64*M]"), "ok");
  EXPECT_EQ(check(in, "reshape %x : f32[floordiv(M*64, 32), 32]"), "ok");
  EXPECT_EQ(check(in, "reshape %x : f32[floordiv(M*64, 128), 128]"), "ok");
  EXPECT_EQ(check(in, "reshape %x : f32[M, 32]"), "T0208");
  EXPECT_EQ(check(in, "reshape %x : f32[M + 1, 64]"), "T0208");
  EXPECT_EQ(check(in, "reshape %x : f32[N, 64]"), "ok");  // sizes that only a run can compare
  EXPECT_EQ(check(in, "reshape %r : f32[63]"), "T0208");
  EXPECT_EQ(check(in, "transpose %x {perm = [1, 0]} : f32[64, M]"), "ok");
  EXPECT_EQ(check(in, "transpose %x {perm = [1]} : f32[64]"), "T0204");
  EXPECT_EQ(check(in, "transpose %s : f32[]"), "ok");
  EXPECT_EQ(check(in, "flip %x {axes = [0, 1]} : f32[M, 64]"), "ok");
  EXPECT_EQ(check(in, "flip %x {axes = [2]} : f32[M, 64]"), "T0204");
}

TEST(Infer, SlicesStayInside) {
  const char* in = "%x: f32[M, 64], %n: f32[N]";
  EXPECT_EQ(check(in, "slice %x {start = [0, 2], stride = [1, 2]} : f32[M, 31]"), "ok");
  EXPECT_EQ(check(in, "slice %x {start = [0, 2], stride = [1, 2]} : f32[M, 32]"), "T0209");
  EXPECT_EQ(check(in, "slice %x {start = [1, 0], stride = [1, 1]} : f32[M - 1, 64]"), "ok");
  EXPECT_EQ(check(in, "slice %x {start = [1, 0], stride = [1, 1]} : f32[M, 64]"), "T0209");
  EXPECT_EQ(check(in, "slice %x {start = [-1, 0], stride = [1, 1]} : f32[M, 64]"), "T0209");
  EXPECT_EQ(check(in, "slice %x {start = [N, 0], stride = [1, 1]} : f32[M - N, 64]"), "ok");
  EXPECT_EQ(check(in, "slice %x {start = [0, 64], stride = [1, 1]} : f32[M, 0]"), "ok");
  EXPECT_EQ(check(in, "slice %x {start = [0, 65], stride = [1, 1]} : f32[M, 0]"), "T0209");
  EXPECT_EQ(check(in, "slice %x {start = [0, 9223372036854775807], stride = [1, 2147483648]} : f32[M, 4294967297]"),
            "T0209");
  EXPECT_EQ(check(in, "slice %x {start = [0, 0], stride = [1, 0]} : f32[M, 1]"), "T0204");
  EXPECT_EQ(check(in, "slice %x {start = [0], stride = [1]} : f32[M]"), "T0204");
  EXPECT_EQ(check(in, "slice %x {start = [0, 0]} : f32[M, 64]"), "T0204");
}

TEST(Infer, PadsAndJoins) {
  const char* in = "%x: f32[M, 64], %n: f32[N, 64], %i: i32[M, 64], %s: f32[], %b: u8[4]";
  EXPECT_EQ(check(in, "pad %x {low = [1, -4], high = [N, 0], value = 0.0} : f32[M + N + 1, 60]"), "ok");
  EXPECT_EQ(check(in, "pad %x {low = [1, -4], high = [0, 0], value = 0.0} : f32[M, 60]"), "T0205");
  EXPECT_EQ(check(in, "pad %b {low = [-5], high = [5], value = 0} : u8[4]"), "T0209");
  const char* wraps = "pad %b {low = [9223372036854775807], high = [9223372036854775807], value = 0} : u8[2]";
  EXPECT_EQ(check(in, wraps), "T0209");
  EXPECT_EQ(check(in, "pad %b {low = [1], high = [0], value = 0.5} : u8[5]"), "T0210");
  EXPECT_EQ(check(in, "pad %b {low = [1, 1], high = [0, 0], value = 0} : u8[5]"), "T0204");
  EXPECT_EQ(check(in, "concat %x, %n, %x {axis = 0} : f32[2*M + N, 64]"), "ok");
  EXPECT_EQ(check(in, "concat %x {axis = 1} : f32[M, 64]"), "ok");
  EXPECT_EQ(check(in, "concat %x, %n {axis = 1} : f32[M, 128]"), "T0203");
  EXPECT_EQ(check(in, "concat %x, %i {axis = 0} : f32[2*M, 64]"), "T0202");
  EXPECT_EQ(check(in, "concat %s, %s {axis = 0} : f32[2]"), "T0204");
  EXPECT_EQ(check(in, "concat {axis = 0} : f32[2]"), "T0201");
}

TEST(Infer, Indexing) {
  const char* in =
      "%x: f32[8, 64], %i: i64[8, 3], %j: i32[9, 3], %k: i64[2, 5], %m: i64[M, 3], %s: f32[8, 3], %f: f32[8]";
  EXPECT_EQ(check(in, "gather %x, %i {axis = 1} : f32[8, 3]"), "ok");
  EXPECT_EQ(check(in, "gather %x, %j {axis = 1} : f32[9, 3]"), "T0203");
  EXPECT_EQ(check(in, "gather %x, %j {axis = 0} : f32[9, 3]"), "ok");
  EXPECT_EQ(check(in, "gather %x, %m {axis = 1} : f32[M, 3]"), "ok");
  EXPECT_EQ(check(in, "gather %x, %s {axis = 1} : f32[8, 3]"), "T0202");
  EXPECT_EQ(check(in, "gather %f, %i {axis = 0} : f32[8, 3]"), "T0203");
  EXPECT_EQ(check(in, "index_select %x, %k {axis = 0} : f32[2, 5, 64]"), "ok");
  EXPECT_EQ(check(in, "index_select %x, %k {axis = 1} : f32[8, 2, 5]"), "ok");
  EXPECT_EQ(check(in, "index_select %x, %k {axis = 2} : f32[8, 2, 5]"), "T0204");
  EXPECT_EQ(check(in, "scatter %x, %i, %s {axis = 1, kind = add} : f32[8, 64]"), "ok");
  EXPECT_EQ(check(in, "scatter %x, %i, %x {axis = 1} : f32[8, 64]"), "T0203");
  EXPECT_EQ(check(in, "scatter %x, %i, %i {axis = 1} : f32[8, 64]"), "T0202");
}

TEST(Infer, Windows) {
  const char* in = "%x: f32[2, 3, H, 9], %i: i32[2, 9]";
  const char* one = "stride = [1], low = [0], high = [0], dilation = [1]";
  EXPECT_EQ(check(in, fmt::format("pool %x {{kind = max, window = [3], {}}} : f32[2, 3, H, 7]", one)), "ok");
  EXPECT_EQ(check(in, fmt::format("pool %x {{kind = argmax, window = [3], {}}} : i64[2, 3, H, 7]", one)), "ok");
  EXPECT_EQ(check(in, fmt::format("pool %i {{kind = max, window = [3], {}}} : i32[2, 7]", one)), "ok");
  EXPECT_EQ(check(in, fmt::format("pool %i {{kind = avg, window = [3], {}}} : i32[2, 7]", one)), "T0202");
  EXPECT_EQ(check(in, fmt::format("pool %x {{kind = max, window = [10], {}}} : f32[2, 3, H, 0]", one)), "T0203");
  EXPECT_EQ(check(in, fmt::format("pool %x {{kind = max, window = [3, 3], {}}} : f32[2, 3, H, 7]", one)), "T0204");
  EXPECT_EQ(
      check(
          in,
          "pool %x {kind = max, window = [2], stride = [2], low = [2], high = [0], dilation = [1]} : f32[2, 3, H, 5]"),
      "T0204");
  EXPECT_EQ(
      check(
          in,
          "pool %x {kind = max, window = [2], stride = [1], low = [0], high = [2], dilation = [1]} : f32[2, 3, H, 10]"),
      "T0204");
  EXPECT_EQ(check(in, "adaptive_pool %x {kind = avg, spatial = 2} : f32[2, 3, 4, 4]"), "ok");
  EXPECT_EQ(check(in, "adaptive_pool %x {kind = avg, spatial = 2} : f32[2, 4, 4, 4]"), "T0205");
  EXPECT_EQ(check(in, "adaptive_pool %x {kind = avg, spatial = 4} : f32[2, 3, 4, 4]"), "T0204");
  EXPECT_EQ(check(in, "adaptive_pool %x {kind = avg, spatial = 1} : f32[2, 3, H, 0]"), "T0203");
  EXPECT_EQ(check(in, "resize %x {kind = linear, spatial = 2, align_corners = true} : f32[2, 3, 2*H, 18]"), "ok");
  EXPECT_EQ(check(in, "resize %x {kind = nearest, spatial = 2, align_corners = true} : f32[2, 3, 2*H, 18]"), "T0204");
  EXPECT_EQ(check(in, "resize %x {kind = nearest, spatial = 2, scale = [2.0]} : f32[2, 3, 2*H, 18]"), "T0204");
  EXPECT_EQ(check(in, "resize %x {kind = nearest, spatial = 1, scale = [nan]} : f32[2, 3, H, 18]"), "T0204");
  EXPECT_EQ(check(in, "resize %i {kind = linear, spatial = 1} : i32[2, 18]"), "T0202");
}

TEST(Infer, Products) {
  const char* in =
      "%a: f32[B, 8, 64], %w: f32[64, 32], %v: f32[32, 64], %b: f32[B, 64, 5], %c: f32[C, 64, 5], %d: f32[32], %h: "
      "f16[64, 32]";
  EXPECT_EQ(check(in, "matmul %a, %w : f32[B, 8, 32]"), "ok");
  EXPECT_EQ(check(in, "matmul %a, %v, %d {transpose_b = true} : f32[B, 8, 32]"), "ok");
  EXPECT_EQ(check(in, "matmul %a, %b : f32[B, 8, 5]"), "ok");
  EXPECT_EQ(check(in, "matmul %w, %w {transpose_a = true} : f32[32, 32]"), "ok");
  EXPECT_EQ(check(in, "matmul %h, %h {transpose_a = true} : f16[32, 32]"), "ok");
  EXPECT_EQ(check(in, "matmul %h, %h {transpose_a = true, wide = true} : f32[32, 32]"), "ok");
  EXPECT_NE(check(in, "matmul %h, %h {transpose_a = true, wide = true} : f16[32, 32]"), "ok");
  EXPECT_EQ(check(in, "matmul %a, %c : f32[B, 8, 5]"), "T0203");
  EXPECT_EQ(check(in, "matmul %w, %b : f32[B, 8, 5]"), "T0203");
  EXPECT_EQ(check(in, "matmul %a, %d : f32[B, 8]"), "T0203");
  EXPECT_EQ(check(in, "matmul %a, %h : f32[B, 8, 32]"), "T0202");
  EXPECT_EQ(check(in, "matmul %a, %w, %a : f32[B, 8, 32]"), "T0203");
  const char* image = "%x: f32[N, 6, 8, 8], %w: f32[4, 3, 3, 3], %b: f32[4], %u: f32[4, 6, 3], %i: i32[N, 6, 8, 8]";
  const char* lists = "stride = [2, 1], low = [1, 1], high = [1, 1], dilation = [1, 2]";
  EXPECT_EQ(check(image, fmt::format("conv %x, %w, %b {{{}, groups = 2}} : f32[N, 4, 4, 6]", lists)), "ok");
  EXPECT_EQ(check(image, fmt::format("conv %x, %w {{{}}} : f32[N, 4, 4, 6]", lists)), "T0203");
  EXPECT_EQ(check(image, fmt::format("conv %x, %u {{{}}} : f32[N, 4, 4, 6]", lists)), "T0203");
  EXPECT_EQ(check(image, fmt::format("conv %i, %i {{{}}} : i32[N, 4, 4, 6]", lists)), "T0202");
  EXPECT_EQ(check(image, "conv %x, %w {groups = 2} : f32[N, 4, 6, 6]"), "T0204");
  EXPECT_EQ(check(image, fmt::format("conv %x, %w {{{}, groups = 0}} : f32[N, 4, 4, 6]", lists)), "T0204");
}

TEST(Infer, AttentionAndItsMask) {
  const char* in =
      "%q: f32[2, L, 8], %k: f32[2, S, 8], %v: f32[2, S, 5], %m: bool[L, S], %f: f32[1, 1, S], %bad: f32[S, L], %h: "
      "f16[L, S]";
  EXPECT_EQ(check(in, "attention %q, %k, %v : f32[2, L, 5]"), "ok");
  EXPECT_EQ(check(in, "attention %q, %k, %v, %m : f32[2, L, 5]"), "ok");
  EXPECT_EQ(check(in, "attention %q, %k, %v, %f {scale = 0.5} : f32[2, L, 5]"), "ok");
  EXPECT_EQ(check(in, "attention %q, %k, %v, %bad : f32[2, L, 5]"), "T0203");
  EXPECT_EQ(check(in, "attention %q, %k, %v, %h : f32[2, L, 5]"), "T0202");
  EXPECT_EQ(check(in, "attention %q, %v, %v : f32[2, L, 5]"), "T0203");
  EXPECT_EQ(check(in, "attention %q, %k, %q : f32[2, L, 5]"), "T0203");
  EXPECT_EQ(check(in, "attention %q, %k, %v {scale = inf} : f32[2, L, 5]"), "T0204");
}

TEST(Infer, Composites) {
  const char* in =
      "%x: f32[N, 6, 8], %r: f32[8], %c: f32[6], %i: i32[N], %t: i64[N], %l: f32[N, 10], %s: i64[], %rr: f32[6, 8]";
  EXPECT_EQ(check(in, "softmax %x {axis = 2} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "softmax %i {axis = 0} : i32[N]"), "T0202");
  EXPECT_EQ(check(in, "norm %x {kind = layer} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %x, %rr, %rr {kind = layer, axes = 2, affine = true} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %x, %r, %r {kind = layer, axes = 2, affine = true} : f32[N, 6, 8]"), "T0203");
  EXPECT_EQ(check(in, "norm %x {kind = layer, axes = 4} : f32[N, 6, 8]"), "T0204");
  EXPECT_EQ(check(in, "norm %x, %r {kind = rms, affine = true} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %x, %r, %r {kind = rms, affine = true} : f32[N, 6, 8]"), "T0201");
  EXPECT_EQ(check(in, "norm %x, %c, %c, %c, %c {kind = batch, affine = true} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %x, %c, %c {kind = batch} : f32[N, 6, 8]"), "ok");  // mean and variance
  EXPECT_EQ(check(in, "norm %x, %c, %c {kind = group, groups = 3, affine = true} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %x {kind = group, groups = 4} : f32[N, 6, 8]"), "T0204");
  EXPECT_EQ(check(in, "norm %x, %c, %c {kind = instance, affine = true} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "norm %l {kind = instance} : f32[N, 10]"), "T0203");
  EXPECT_EQ(check(in, "norm %x {kind = layer, eps = nan} : f32[N, 6, 8]"), "T0204");
  EXPECT_EQ(check(in, "relu %i : i32[N]"), "ok");
  EXPECT_EQ(check(in, "gelu %i : i32[N]"), "T0202");
  EXPECT_EQ(check(in, "elu %r {alpha = nan} : f32[8]"), "T0204");
  EXPECT_EQ(check(in, "cross_entropy %l, %t {reduction = none} : f32[N]"), "ok");
  EXPECT_EQ(check(in, "cross_entropy %l, %t {reduction = mean} : f32[]"), "ok");
  EXPECT_EQ(check(in, "cross_entropy %l, %i {reduction = mean} : f32[]"), "T0202");
  EXPECT_EQ(check(in, "cross_entropy %x, %t {reduction = mean} : f32[]"), "T0203");
  EXPECT_EQ(check(in, "cross_entropy %l, %t {reduction = mean, smoothing = 2.0} : f32[]"), "T0204");
  EXPECT_EQ(check(in, "dropout %x, %s, %s {p = 0.25} : f32[N, 6, 8]"), "ok");
  EXPECT_EQ(check(in, "dropout %x, %s, %s {p = 1.0} : f32[N, 6, 8]"), "T0204");
  EXPECT_EQ(check(in, "dropout %x, %s, %t {p = 0.5} : f32[N, 6, 8]"), "T0203");
}

TEST(InferType, SaysWhenADeclarationIsMissing) {
  const TensorType x{DType::f32, {4}};
  EXPECT_EQ(inferType(Cast{}, {x}).error().code, "T0211");
  EXPECT_EQ(inferType(Reshape{}, {x}).error().code, "T0211");
  EXPECT_EQ(inferType(Unary{UnaryKind::exp}, {x})->str(), "f32[4]");
  const TensorType declared{DType::bf16, {}};
  EXPECT_EQ(inferType(Cast{}, {x}, &declared)->str(), "bf16[4]");
  const auto wrong = inferType(Binary{BinaryKind::add}, {x, declared});
  EXPECT_NE(wrong.error().message.find("operand 1 : bf16[]"), std::string::npos) << wrong.error().str();
}

}  // namespace
}  // namespace tokamak
