#include "passes/decompose.h"

#include <fmt/format.h>

#include "passes/expect_rewrite.h"

namespace tokamak {
namespace {

constexpr std::string_view kFloats[] = {"f16", "bf16", "f32", "f64"};

/// Composite and decomposition agree at every precision; no composite is left; a second run changes nothing.
void expectSameAsComposite(const std::string& text, bool eager = true) {
  SCOPED_TRACE(text);
  const Graph composite = parsed(text);
  if (::testing::Test::HasFailure()) return;
  Graph graph = composite;
  const auto changed = Decompose{}.run(graph);
  ASSERT_TRUE(changed.ok()) << changed.error().str();
  EXPECT_EQ(*changed, Changed::yes);
  const auto verified = verify(graph);
  ASSERT_TRUE(verified.ok()) << verified.error().str() << "\n" << print(graph);
  for (const Node& node : graph.nodes()) EXPECT_FALSE(isComposite(node.op)) << mnemonic(node.op);
  expectSameResults(graph, composite, EvalPrecision::wide);
  expectSameResults(graph, composite, EvalPrecision::compute);
  if (eager) expectSameResults(graph, composite, EvalPrecision::eager);
  EXPECT_EQ(*Decompose{}.run(graph), Changed::no);
}

TEST(Decompose, SoftmaxOfF32) {
  expectRewrite(Decompose{}, R"(
    graph @softmax(%x: f32[M, 8]) {
      %0 = softmax %x {axis = 1} : f32[M, 8]
      return %0
    })",
                R"(
    graph @softmax(%x: f32[M, 8]) {
      %0 = reduce %x {kind = max, axes = [1]} : f32[M]
      %1 = broadcast %0 {axes = [0]} : f32[M, 8]
      %2 = sub %x, %1 : f32[M, 8]
      %3 = exp %2 : f32[M, 8]
      %4 = reduce %3 {kind = sum, axes = [1]} : f32[M]
      %5 = broadcast %4 {axes = [0]} : f32[M, 8]
      %6 = div %3, %5 : f32[M, 8]
      return %6
    })");
}

TEST(Decompose, RmsNormOfBf16ComputesInF32) {
  expectRewrite(Decompose{}, R"(
    graph @rms(%x: bf16[M, 8], %w: bf16[8]) {
      %y = norm %x, %w {kind = rms, axes = 1, eps = 1e-06, affine = true} : bf16[M, 8]
      return %y
    })",
                R"(
    graph @rms(%x: bf16[M, 8], %w: bf16[8]) {
      %0 = cast %x {synthetic = true} : f32[M, 8]
      %1 = mul %0, %0 : f32[M, 8]
      %2 = reduce %1 {kind = mean, axes = [1]} : f32[M]
      %3 = full {value = 1e-06} : f32[M]
      %4 = add %2, %3 : f32[M]
      %5 = rsqrt %4 : f32[M]
      %6 = broadcast %5 {axes = [0]} : f32[M, 8]
      %7 = mul %0, %6 : f32[M, 8]
      %8 = cast %w {synthetic = true} : f32[8]
      %9 = broadcast %8 {axes = [1]} : f32[M, 8]
      %10 = mul %7, %9 : f32[M, 8]
      %y = cast %10 {synthetic = true} : bf16[M, 8]
      return %y
    })");
}

TEST(Decompose, SoftmaxOnEveryFloat) {
  for (std::string_view t : kFloats)
    for (bool log : {false, true}) {
      for (int axis : {0, 1, 2})
        expectSameAsComposite(fmt::format(
            "graph @f(%x: {0}[M, 6, 2]) {{ %0 = softmax %x {{axis = {1}, log = {2}}} : {0}[M, 6, 2]\n return %0 }}", t,
            axis, log));
      for (std::string_view shape : {"[3, 1]", "[0, 4]", "[4, 0]"})
        expectSameAsComposite(fmt::format(
            "graph @f(%x: {0}{1}) {{ %0 = softmax %x {{axis = 1, log = {2}}} : {0}{1}\n return %0 }}", t, shape, log));
    }
}

TEST(Decompose, SoftmaxOfHiddenRowsIsNaN) {
  Graph graph = parsed("graph @f(%x: f32[2, 2]) { %0 = softmax %x {axis = 1} : f32[2, 2]\n return %0 }");
  ASSERT_TRUE(Decompose{}.run(graph).ok());
  Array x(DType::f32, {2, 2});
  x.setDouble(0, -std::numeric_limits<double>::infinity());
  x.setDouble(1, -std::numeric_limits<double>::infinity());
  const auto y = evaluate(graph, {x});
  ASSERT_TRUE(y.ok());
  EXPECT_TRUE(std::isnan((*y)[0].getDouble(0)) && std::isnan((*y)[0].getDouble(1)));
  EXPECT_EQ((*y)[0].getDouble(2), 0.5);
}

TEST(Decompose, NormsOnEveryFloat) {
  for (std::string_view t : kFloats) {
    for (std::string_view shape : {"[M, 3, 4]", "[2, 3, 1]", "[0, 3, 4]", "[2, 3, 0]"}) {
      const std::string inner(shape.substr(shape.find('3')));
      expectSameAsComposite(fmt::format(
          "graph @f(%x: {0}{1}) {{ %0 = norm %x {{kind = layer, axes = 1}} : {0}{1}\n return %0 }}", t, shape));
      expectSameAsComposite(
          fmt::format("graph @f(%x: {0}{1}, %w: {0}[{2}, %b: {0}[{2}) {{ %0 = norm %x, %w, %b {{kind = layer, axes = "
                      "2, affine = true}} : {0}{1}\n return %0 }}",
                      t, shape, inner));
      expectSameAsComposite(
          fmt::format("graph @f(%x: {0}{1}, %w: {0}[{2}) {{ %0 = norm %x, %w {{kind = rms, axes = 2, affine = true}} : "
                      "{0}{1}\n return %0 }}",
                      t, shape, inner));
    }
    for (std::string_view kind : {"batch", "instance"})
      expectSameAsComposite(
          fmt::format("graph @f(%x: {0}[N, 4, H, 2], %w: {0}[4], %b: {0}[4]) {{ %0 = norm %x, %w, %b {{kind = {1}, "
                      "affine = true}} : {0}[N, 4, H, 2]\n return %0 }}",
                      t, kind));
    for (int groups : {1, 2, 4})
      expectSameAsComposite(
          fmt::format("graph @f(%x: {0}[N, 4, H, 2], %w: {0}[4], %b: {0}[4]) {{ %0 = norm %x, %w, %b {{kind = group, "
                      "groups = {1}, affine = true}} : {0}[N, 4, H, 2]\n return %0 }}",
                      t, groups));
    expectSameAsComposite(fmt::format(
        "graph @f(%x: {0}[N, 4]) {{ %0 = norm %x {{kind = group, groups = 2}} : {0}[N, 4]\n return %0 }}", t));
  }
}

TEST(Decompose, BatchNormWithStatistics) {
  for (std::string_view t : kFloats) {
    expectSameAsComposite(
        fmt::format("graph @f(%x: {0}[N, 3, 5], %m: {0}[3], %v: {0}[3]) {{ %a = abs %v : {0}[3]\n %0 = norm %x, %m, %a "
                    "{{kind = batch}} : {0}[N, 3, 5]\n return %0 }}",
                    t));
    expectSameAsComposite(
        fmt::format("graph @f(%x: {0}[N, 3], %w: {0}[3], %b: {0}[3], %m: {0}[3], %v: {0}[3]) {{ %a = abs %v : {0}[3]\n"
                    "%0 = norm %x, %w, %b, %m, %a {{kind = batch, affine = true}} : {0}[N, 3]\n return %0 }}",
                    t));
  }
}

TEST(Decompose, GroupNormNeedsAKnownMultiple) {
  Graph graph =
      parsed("graph @f(%x: f32[2, 4*C, 3]) { %0 = norm %x {kind = group, groups = 2} : f32[2, 4*C, 3]\n return %0 }");
  EXPECT_TRUE(Decompose{}.run(graph).ok());
  graph = parsed("graph @f(%x: f32[2, C, 3]) { %0 = norm %x {kind = group, groups = 2} : f32[2, C, 3]\n return %0 }");
  const auto refused = Decompose{}.run(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "T0290");
}

TEST(Decompose, ActivationsOnEveryFloat) {
  for (std::string_view t : kFloats)
    for (ActivationKind kind :
         {ActivationKind::relu, ActivationKind::leaky_relu, ActivationKind::elu, ActivationKind::gelu,
          ActivationKind::gelu_tanh, ActivationKind::silu, ActivationKind::softplus, ActivationKind::mish,
          ActivationKind::hardswish, ActivationKind::hardsigmoid})
      for (std::string_view shape : {"[N, 24]", "[]", "[0]"})
        for (std::string_view alpha : {"1.0", "0.25"})
          expectSameAsComposite(
              fmt::format("graph @f(%x: {0}{1}) {{ %0 = {2} %x {{alpha = {3}}} : {0}{1}\n return %0 }}", t, shape,
                          nameOf(kind), alpha));
}

TEST(Decompose, ReluOfIntegers) {
  for (std::string_view t : {"i8", "i32", "i64", "u8"})
    expectSameAsComposite(fmt::format("graph @f(%x: {0}[9]) {{ %0 = relu %x : {0}[9]\n return %0 }}", t));
}

TEST(Decompose, CrossEntropy) {
  for (std::string_view t : kFloats)
    for (std::string_view reduction : {"none", "mean", "sum"})
      for (std::string_view smoothing : {"0.0", "0.1"})
        for (int ignore : {-100, 2})
          expectSameAsComposite(
              fmt::format("graph @f(%x: {0}[N, 4], %t: i64[N]) {{ %0 = cross_entropy %x, %t {{reduction = {1}, ignore "
                          "= {2}, smoothing = {3}}} : {0}{4}\n return %0 }}",
                          t, reduction, ignore, smoothing, reduction == "none" ? "[N]" : "[]"));
}

TEST(Decompose, Dropout) {
  for (std::string_view t : kFloats)
    for (std::string_view p : {"0.0", "0.1", "0.5", "0.999"})
      expectSameAsComposite(
          fmt::format("graph @f(%x: {0}[N, 7], %s: i64[], %o: i64[]) {{ %0 = dropout %x, %s, %o {{p = {1}}} : {0}[N, "
                      "7]\n return %0 }}",
                      t, p));
}

TEST(Decompose, Attention) {
  for (std::string_view t : kFloats)
    for (std::string_view causal : {"false", "true"}) {
      for (std::string_view e : {"8", "E"})
        expectSameAsComposite(
            fmt::format("graph @f(%q: {0}[B, 2, L, {1}], %k: {0}[B, 2, S, {1}], %v: {0}[B, 2, S, 5]) {{\n"
                        "%0 = attention %q, %k, %v {{causal = {2}}} : {0}[B, 2, L, 5]\n return %0 }}",
                        t, e, causal),
            false);
      for (std::string_view mask : {"bool[L, S]", "bool[B, 1, 1, S]", "bool[B, 2, L, S]"})
        for (std::string_view safe : {"false", "true"})
          expectSameAsComposite(
              fmt::format("graph @f(%q: {0}[B, 2, L, 4], %k: {0}[B, 2, S, 4], %v: {0}[B, 2, S, 5], %m: {1}) {{\n"
                          "%0 = attention %q, %k, %v, %m {{causal = {2}, safe = {3}, scale = 0.5}} : {0}[B, 2, L, 5]\n "
                          "return %0 }}",
                          t, mask, causal, safe),
              false);
      expectSameAsComposite(
          fmt::format("graph @f(%q: {0}[B, L, 4], %k: {0}[B, S, 4], %v: {0}[B, S, 5], %m: {0}[L, S]) {{\n"
                      "%0 = attention %q, %k, %v, %m {{causal = {1}}} : {0}[B, L, 5]\n return %0 }}",
                      t, causal),
          false);
    }
}

TEST(Decompose, KeepsAttentionIfAsked) {
  expectNoRewrite(Decompose{.keepAttention = true}, R"(
    graph @f(%q: f32[2, 3, 4], %k: f32[2, 5, 4], %v: f32[2, 5, 4]) {
      %0 = attention %q, %k, %v : f32[2, 3, 4]
      return %0
    })");
}

TEST(Decompose, VarianceByTwoSweeps) {
  for (std::string_view t : kFloats)
    for (int correction : {0, 1, 4})
      for (std::string_view shape : {"[M, N]", "[M, 4]", "[3, 1]"})
        expectSameAsComposite(
            fmt::format("graph @f(%x: {0}{1}) {{ %0 = reduce %x {{kind = var, axes = [1], correction = {2}}} : "
                        "{0}[{3}]\n return %0 }}",
                        t, shape, correction, shape == "[3, 1]" ? "3" : "M"));
}

}  // namespace
}  // namespace tokamak
