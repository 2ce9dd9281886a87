#include "passes/canonicalise.h"

#include <fmt/format.h>

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

/// A graph of %x and one op on it and a scalar: `op %x, value`.
std::string withScalar(std::string_view op, std::string_view dtype, std::string_view value,
                       std::string_view result = {}) {
  return fmt::format(R"(
    graph @f(%x: {1}[4]) {{
      %0 = full {{value = {2}}} : {1}[4]
      %1 = {0} %x, %0 : {3}[4]
      return %1
    }})",
                     op, dtype, value, result.empty() ? dtype : result);
}

std::string identity(std::string_view dtype) { return fmt::format("graph @f(%x: {}[4]) {{ return %x }}", dtype); }

TEST(Canonicalise, DropsIdentitiesOfFloats) {
  for (std::string_view dtype : {"f16", "bf16", "f32", "f64"}) {
    expectRewrite(Canonicalise{}, withScalar("mul", dtype, "1.0"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("add", dtype, "-0.0"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("sub", dtype, "0.0"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("div", dtype, "1.0"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("pow", dtype, "1.0"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("max", dtype, "-inf"), identity(dtype));
    expectRewrite(Canonicalise{}, withScalar("min", dtype, "inf"), identity(dtype));
  }
}

TEST(Canonicalise, KeepsWhatChangesSomeFloat) {
  expectNoRewrite(Canonicalise{}, withScalar("add", "f32", "0.0"));   // -0.0
  expectNoRewrite(Canonicalise{}, withScalar("sub", "f32", "-0.0"));  // -0.0
  expectNoRewrite(Canonicalise{}, withScalar("mul", "f32", "0.0"));   // NaN, inf, sign
  expectNoRewrite(Canonicalise{}, withScalar("div", "f32", "3.0"));
  expectNoRewrite(Canonicalise{}, withScalar("pow", "f32", "0.5"));  // -inf, -0.0
  expectNoRewrite(Canonicalise{}, withScalar("max", "f32", "inf"));  // NaN
  expectNoRewrite(Canonicalise{}, withScalar("floordiv", "f32", "1.0"));
  for (std::string_view op : {"sub", "div"})
    expectNoRewrite(Canonicalise{}, fmt::format("graph @f(%x: f32[4]) {{ %0 = {} %x, %x : f32[4]\n return %0 }}", op));
  for (std::string_view op : {"eq", "ne", "le", "lt"})
    expectNoRewrite(Canonicalise{}, fmt::format("graph @f(%x: f32[4]) {{ %0 = {} %x, %x : bool[4]\n return %0 }}", op));
}

TEST(Canonicalise, DropsIdentitiesOfIntegers) {
  for (std::string_view dtype : {"u8", "i8", "i16", "i32", "i64"}) {
    for (std::string_view op : {"add", "sub", "or", "xor", "shl", "shr"})
      expectRewrite(Canonicalise{}, withScalar(op, dtype, "0"), identity(dtype));
    for (std::string_view op : {"mul", "div", "floordiv", "pow"})
      expectRewrite(Canonicalise{}, withScalar(op, dtype, "1"), identity(dtype));
    const std::string zero =
        fmt::format("graph @f(%x: {0}[4]) {{ %0 = full {{value = 0}} : {0}[4]\n return %0 }}", dtype);
    expectRewrite(Canonicalise{}, withScalar("mul", dtype, "0"), zero);
    expectRewrite(Canonicalise{}, withScalar("and", dtype, "0"), zero);
    expectRewrite(Canonicalise{}, withScalar("rem", dtype, "1"), zero);
    expectRewrite(Canonicalise{}, fmt::format("graph @f(%x: {0}[4]) {{ %0 = sub %x, %x : {0}[4]\n return %0 }}", dtype),
                  zero);
  }
  expectRewrite(Canonicalise{}, withScalar("and", "u8", "255"), identity("u8"));
  expectRewrite(Canonicalise{}, withScalar("and", "i32", "-1"), identity("i32"));
}

TEST(Canonicalise, KnowsTheLogicOfBool) {
  for (std::string_view op : {"or", "add", "max", "ne", "xor"})
    expectRewrite(Canonicalise{}, withScalar(op, "bool", "false"), identity("bool"));
  for (std::string_view op : {"and", "mul", "min", "eq"})
    expectRewrite(Canonicalise{}, withScalar(op, "bool", "true"), identity("bool"));
}

TEST(Canonicalise, StrengthensArithmetic) {
  expectRewrite(Canonicalise{}, withScalar("pow", "f32", "2.0"),
                "graph @f(%x: f32[4]) { %0 = mul %x, %x : f32[4]\n return %0 }");
  expectRewrite(Canonicalise{}, withScalar("pow", "i32", "3"), R"(
    graph @f(%x: i32[4]) {
      %0 = mul %x, %x : i32[4]
      %1 = mul %0, %x : i32[4]
      return %1
    })");
  expectRewrite(Canonicalise{}, withScalar("pow", "f32", "0.0"),
                "graph @f(%x: f32[4]) { %0 = full {value = 1.0} : f32[4]\n return %0 }");
  expectRewrite(Canonicalise{}, withScalar("div", "f32", "8.0"), withScalar("mul", "f32", "0.125"));
  expectRewrite(Canonicalise{}, withScalar("mul", "f32", "-1.0"),
                "graph @f(%x: f32[4]) { %0 = neg %x : f32[4]\n return %0 }");
}

TEST(Canonicalise, PutsScalarsOnTheRight) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4]) {
      %0 = full {value = 3.0} : f32[4]
      %1 = add %0, %x : f32[4]
      %2 = lt %0, %x : bool[4]
      %3 = sub %0, %x : f32[4]
      return %1, %2, %3
    })",
                R"(
    graph @f(%x: f32[4]) {
      %0 = full {value = 3.0} : f32[4]
      %1 = add %x, %0 : f32[4]
      %2 = gt %x, %0 : bool[4]
      %3 = sub %0, %x : f32[4]
      return %1, %2, %3
    })");
}

TEST(Canonicalise, CancelsInverses) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4], %p: bool[4], %i: i32[4], %y: f32[4]) {
      %0 = neg %x : f32[4]
      %1 = neg %0 : f32[4]
      %2 = logical_not %p : bool[4]
      %3 = logical_not %2 : bool[4]
      %4 = bitnot %i : i32[4]
      %5 = bitnot %4 : i32[4]
      %6 = abs %0 : f32[4]
      %7 = floor %x : f32[4]
      %8 = round %7 : f32[4]
      %9 = add %y, %0 : f32[4]
      %10 = floor %i : i32[4]
      return %1, %3, %5, %6, %8, %9, %10
    })",
                R"(
    graph @f(%x: f32[4], %p: bool[4], %i: i32[4], %y: f32[4]) {
      %0 = abs %x : f32[4]
      %1 = floor %x : f32[4]
      %2 = sub %y, %x : f32[4]
      return %x, %p, %i, %0, %1, %2, %i
    })");
}

TEST(Canonicalise, SettlesSelectsAndClamps) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4], %y: f32[4], %p: bool[4]) {
      %0 = full {value = true} : bool[4]
      %1 = select %0, %x, %y : f32[4]
      %2 = select %p, %x, %x : f32[4]
      %3 = logical_not %p : bool[4]
      %4 = select %3, %x, %y : f32[4]
      %5 = full {value = false} : bool[4]
      %6 = select %p, %0, %5 : bool[4]
      %7 = full {value = -inf} : f32[4]
      %8 = full {value = 6.0} : f32[4]
      %9 = clamp %x, %7, %8 : f32[4]
      return %1, %2, %4, %6, %9
    })",
                R"(
    graph @f(%x: f32[4], %y: f32[4], %p: bool[4]) {
      %0 = select %p, %y, %x : f32[4]
      %1 = full {value = 6.0} : f32[4]
      %2 = min %x, %1 : f32[4]
      return %x, %x, %0, %p, %2
    })");
}

TEST(Canonicalise, DropsCastsThatLoseNothing) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4], %i: i32[4], %b: bool[4], %l: i64[4], %h: bf16[4]) {
      %0 = cast %x : f64[4]
      %1 = cast %0 : f32[4]
      %2 = cast %i : i64[4]
      %3 = cast %2 : f32[4]
      %4 = cast %b : f16[4]
      %5 = cast %4 : bool[4]
      %6 = cast %l : i32[4]
      %7 = cast %6 : i8[4]
      %8 = cast %h : f32[4]
      %9 = cast %8 : bf16[4]
      return %1, %3, %5, %7, %9
    })",
                R"(
    graph @f(%x: f32[4], %i: i32[4], %b: bool[4], %l: i64[4], %h: bf16[4]) {
      %0 = cast %i : f32[4]
      %1 = cast %l : i8[4]
      return %x, %0, %b, %1, %h
    })");
}

TEST(Canonicalise, KeepsCastsThatRound) {
  expectNoRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4], %l: i64[4], %f: f32[4]) {
      %0 = cast %x : f16[4]
      %1 = cast %0 : f32[4]
      %2 = cast %x : bf16[4]
      %3 = cast %2 : f16[4]
      %4 = cast %l : f32[4]
      %5 = cast %4 : i64[4]
      %6 = cast %f : i8[4]
      %7 = cast %6 : f32[4]
      %8 = cast %l : i8[4]
      %9 = cast %8 : i32[4]
      return %1, %3, %5, %7, %9
    })");
}

TEST(Canonicalise, KeepsTheRoundingOfAComputedHalf) {
  // Between ops %0 holds more than bf16 does; the program's cast is where it rounds.
  expectNoRewrite(Canonicalise{}, R"(
    graph @f(%x: bf16[4]) {
      %0 = exp %x : bf16[4]
      %1 = cast %0 : f32[4]
      %2 = cast %1 : bf16[4]
      %3 = cast %0 : bf16[4]
      return %2, %3
    })");
}

TEST(Canonicalise, ComposesShapeOps) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[2, 3, 4], %v: f32[3], %n: f32[N, 1]) {
      %0 = transpose %x {perm = [1, 0, 2]} : f32[3, 2, 4]
      %1 = transpose %0 {perm = [1, 0, 2]} : f32[2, 3, 4]
      %2 = reshape %x : f32[6, 4]
      %3 = reshape %2 : f32[24]
      %4 = reshape %3 : f32[2, 3, 4]
      %5 = broadcast %v {axes = [1]} : f32[2, 3]
      %6 = broadcast %5 {axes = [0, 1]} : f32[2, 3, 4]
      %7 = reshape %v : f32[3, 1]
      %8 = broadcast %7 {axes = [1, 2]} : f32[2, 3, 4]
      %9 = slice %x {start = [0, 0, 0], stride = [1, 1, 1]} : f32[2, 3, 4]
      %10 = broadcast %n {axes = [0, 1]} : f32[N, 1]
      %11 = reshape %6 : f32[6, 4]
      return %1, %3, %4, %6, %8, %9, %10, %11
    })",
                R"(
    graph @f(%x: f32[2, 3, 4], %v: f32[3], %n: f32[N, 1]) {
      %0 = reshape %x : f32[24]
      %1 = broadcast %v {axes = [1]} : f32[2, 3, 4]
      %2 = broadcast %v {axes = [1]} : f32[2, 3, 4]
      %3 = reshape %1 : f32[6, 4]
      return %x, %0, %x, %1, %2, %x, %n, %3
    })");
}

TEST(Canonicalise, SlicesWhatTheyNeed) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4, 6], %y: f32[4, 6], %b: f32[6]) {
      %0 = slice %x {start = [1, 0], stride = [1, 2]} : f32[3, 3]
      %1 = slice %0 {start = [1, 1], stride = [1, 1]} : f32[2, 2]
      %2 = concat %x, %y {axis = 0} : f32[8, 6]
      %3 = slice %2 {start = [5, 0], stride = [1, 1]} : f32[2, 6]
      %4 = slice %2 {start = [3, 0], stride = [1, 1]} : f32[2, 6]
      %5 = broadcast %b {axes = [1]} : f32[9, 6]
      %6 = slice %5 {start = [2, 0], stride = [3, 1]} : f32[2, 6]
      return %1, %3, %4, %6
    })",
                R"(
    graph @f(%x: f32[4, 6], %y: f32[4, 6], %b: f32[6]) {
      %0 = slice %x {start = [2, 2], stride = [1, 2]} : f32[2, 2]
      %1 = concat %x, %y {axis = 0} : f32[8, 6]
      %2 = slice %y {start = [1, 0], stride = [1, 1]} : f32[2, 6]
      %3 = slice %1 {start = [3, 0], stride = [1, 1]} : f32[2, 6]
      %4 = broadcast %b {axes = [1]} : f32[2, 6]
      return %0, %2, %3, %4
    })");
}

/// One that takes nothing may begin where the other ends, but not where that would be in what the other slices.
TEST(Canonicalise, AnEmptySliceOfASliceStaysInside) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[8]) {
      %0 = slice %x {start = [2], stride = [4]} : f32[2]
      %1 = slice %0 {start = [2], stride = [1]} : f32[0]
      return %1
    })",
                R"(
    graph @f(%x: f32[8]) {
      %0 = slice %x {start = [2], stride = [4]} : f32[0]
      return %0
    })");
}

TEST(Canonicalise, TidiesPadsConcatsAndFlips) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4, 1], %e: f32[0, 1]) {
      %0 = pad %x {low = [0, 0], high = [0, 0], value = 0.0} : f32[4, 1]
      %1 = concat %x {axis = 0} : f32[4, 1]
      %2 = concat %x, %e {axis = 0} : f32[4, 1]
      %3 = concat %x, %x {axis = 0} : f32[8, 1]
      %4 = concat %3, %x {axis = 0} : f32[12, 1]
      %5 = flip %x {axes = [1]} : f32[4, 1]
      %6 = flip %x {axes = [0]} : f32[4, 1]
      %7 = flip %6 {axes = [0, 1]} : f32[4, 1]
      return %0, %1, %2, %4, %5, %7
    })",
                R"(
    graph @f(%x: f32[4, 1], %e: f32[0, 1]) {
      %0 = concat %x, %x, %x {axis = 0} : f32[12, 1]
      return %x, %x, %x, %0, %x, %x
    })");
}

TEST(Canonicalise, FoldsOverUnitAxesRearrange) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[4, 1], %i: i32[4, 1]) {
      %0 = reduce %x {kind = max, axes = [1]} : f32[4]
      %1 = reduce %x {kind = sum, axes = [1]} : f32[4]
      %2 = reduce %i {kind = sum, axes = [1]} : i64[4]
      %3 = reduce %x {kind = argmax, axes = [1]} : i64[4]
      %4 = reduce %i {kind = any, axes = [1]} : bool[4]
      return %0, %1, %2, %3, %4
    })",
                R"(
    graph @f(%x: f32[4, 1], %i: i32[4, 1]) {
      %0 = reshape %x : f32[4]
      %1 = reshape %x : f32[4]
      %2 = full {value = 0.0} : f32[4]
      %3 = add %1, %2 : f32[4]
      %4 = cast %i : i64[4, 1]
      %5 = reshape %4 : i64[4]
      %6 = full {value = 0} : i64[4]
      %7 = cast %i : bool[4, 1]
      %8 = reshape %7 : bool[4]
      return %0, %3, %5, %6, %8
    })");
}

TEST(Canonicalise, MergesFolds) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[2, 3, 4]) {
      %0 = reduce %x {kind = sum, axes = [1]} : f32[2, 4]
      %1 = reduce %0 {kind = sum, axes = [1]} : f32[2]
      %2 = reduce %x {kind = max, axes = [0]} : f32[3, 4]
      %3 = reduce %2 {kind = max, axes = [0]} : f32[4]
      %4 = reduce %x {kind = mean, axes = [2]} : f32[2, 3]
      %5 = reduce %4 {kind = sum, axes = [1]} : f32[2]
      return %1, %2, %3, %5
    })",
                R"(
    graph @f(%x: f32[2, 3, 4]) {
      %0 = reduce %x {kind = sum, axes = [1, 2]} : f32[2]
      %1 = reduce %x {kind = max, axes = [0]} : f32[3, 4]
      %2 = reduce %1 {kind = max, axes = [0]} : f32[4]
      %3 = reduce %x {kind = mean, axes = [2]} : f32[2, 3]
      %4 = reduce %3 {kind = sum, axes = [1]} : f32[2]
      return %0, %1, %2, %4
    })");
}

TEST(Canonicalise, ComputesBeforeRepeating) {
  expectRewrite(Canonicalise{}, R"(
    graph @f(%x: f32[M], %y: f32[M], %z: f32[4]) {
      %0 = broadcast %x {axes = [0]} : f32[M, 4]
      %1 = full {value = 2.0} : f32[M, 4]
      %2 = add %0, %1 : f32[M, 4]
      %3 = broadcast %y {axes = [0]} : f32[M, 4]
      %4 = gt %2, %3 : bool[M, 4]
      %5 = broadcast %z {axes = [1]} : f32[M, 4]
      %6 = select %4, %2, %5 : f32[M, 4]
      return %6
    })",
                R"(
    graph @f(%x: f32[M], %y: f32[M], %z: f32[4]) {
      %0 = full {value = 2.0} : f32[M]
      %1 = add %x, %0 : f32[M]
      %2 = broadcast %1 {axes = [0]} : f32[M, 4]
      %3 = gt %1, %y : bool[M]
      %4 = broadcast %3 {axes = [0]} : bool[M, 4]
      %5 = broadcast %z {axes = [1]} : f32[M, 4]
      %6 = select %4, %2, %5 : f32[M, 4]
      return %6
    })");
}

TEST(Canonicalise, KeepsNamesOfWhatItReplaces) {
  Graph graph = parsed(R"(
    graph @f(%x: f32[4]) {
      %two = full {value = 2.0} : f32[4]
      %square = pow %x, %two : f32[4]
      return %square
    })");
  ASSERT_TRUE(Canonicalise{}.run(graph).ok());
  EXPECT_EQ(graph.node(graph.outputs()[0]).name, "square");
}

}  // namespace
}  // namespace tokamak
