#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "graph/graph.h"

namespace tokamak {
namespace {

Graph parsed(std::string_view text) {
  auto graph = parseGraph(text, "test.tk");
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().str()) << "\n" << text;
  return graph.ok() ? *graph : Graph{};
}

void expectRoundTrip(const Graph& graph) {
  const std::string text = print(graph);
  const Graph again = parsed(text);
  EXPECT_EQ(again, graph) << text;
  EXPECT_EQ(print(again), text);
}

TEST(GraphText, PrintsAsTheHeadersSay) {
  const std::string text =
      "graph @gelu_bias(%x: f32[M, 64], %b: f32[64]) {\n"
      "  %0 = broadcast %b {axes = [1]} : f32[M, 64]\n"
      "  %1 = add %x, %0 : f32[M, 64]\n"
      "  %act = gelu %1 : f32[M, 64]\n"
      "  %2 = reduce %act {kind = sum, axes = [1]} : f32[M]\n"
      "  return %act, %2\n"
      "}\n";
  const Graph graph = parsed(text);
  EXPECT_EQ(print(graph), text);
  EXPECT_EQ(graph.label(ValueId(5)), "%2");
  EXPECT_EQ(graph.label(ValueId(4)), "%act");
  expectRoundTrip(graph);
}

TEST(GraphText, NumbersOnlyLabelAndAnyNumberIsAccepted) {
  const Graph a = parsed("graph @f(%x: f32[2]) { %7 = exp %x : f32[2] %3 = neg %7 : f32[2] return %3 }");
  const Graph b = parsed("graph @f(%x: f32[2]) { %0 = exp %x : f32[2] %1 = neg %0 : f32[2] return %1 } // same");
  EXPECT_EQ(a, b);
  EXPECT_NE(a, parsed("graph @f(%x: f32[2]) { %e = exp %x : f32[2] %1 = neg %e : f32[2] return %1 }"));
}

TEST(GraphText, LocationsAreKeptAndDoNotCount) {
  const Graph a = parsed("graph @f(%x: f32[2]) {\n  %0 = exp %x : f32[2]\n  return %0\n}");
  EXPECT_EQ(a.node(ValueId(1)).location, (Location{"test.tk", 2, 8}));
  EXPECT_EQ(a.node(ValueId(0)).location, (Location{"test.tk", 1, 10}));
  const Graph b = parsed("graph @f(%x: f32[2]) { %0 = exp %x : f32[2]  return %0 }");
  EXPECT_EQ(a, b);
}

TEST(GraphText, ReadsCommentsSpacesAndOrderMarks) {
  const Graph a = parsed("\xef\xbb\xbf// \xce\xb1 comment\r\ngraph@f(%x:f32[2]){%0=exp%x:f32[2]return%0}//end");
  EXPECT_EQ(print(a), "graph @f(%x: f32[2]) {\n  %0 = exp %x : f32[2]\n  return %0\n}\n");
  EXPECT_EQ(a.node(ValueId(0)).location.column, 9);
}

TEST(GraphText, EveryOpRoundTrips) {
  const Graph graph = parsed(R"(
    graph @all(%x: f32[4, 6], %i: i64[4, 6], %c: bool[4, 6], %s: i64[], %im: f32[2, 6, 8, 8], %w: f32[9, 2, 3, 3],
               %ch: f32[6], %q: f32[2, 5, 6], %k: f32[2, 7, 6], %t: i64[4], %four: f32[4]) {
      %0 = constant {data = [1.0, -0.0, inf, -inf, nan, 1e-45]} : f32[6]
      %1 = full {value = nan} : f32[4, 6]
      %2 = iota {axis = 1} : i64[4, 6]
      %3 = random %s, %s {kind = normal} : f32[4, 6]
      %4 = exp %x : f32[4, 6]
      %5 = atan2 %x, %1 : f32[4, 6]
      %6 = select %c, %x, %1 : f32[4, 6]
      %7 = clamp %x, %1, %3 : f32[4, 6]
      %8 = cast %x : bf16[4, 6]
      %9 = reduce %x {kind = var, axes = [0, 1], correction = 1} : f32[]
      %10 = scan %x {kind = argmax, axis = 1, reverse = true} : i64[4, 6]
      %11 = broadcast %0 {axes = [1]} : f32[4, 6]
      %12 = reshape %x : f32[24]
      %13 = transpose %x {perm = [1, 0]} : f32[6, 4]
      %14 = slice %x {start = [0, 1], stride = [1, 2]} : f32[4, 3]
      %15 = pad %x {low = [1, -1], high = [0, 2], value = -inf} : f32[5, 7]
      %16 = concat %x, %1 {axis = 0} : f32[8, 6]
      %17 = flip %x {axes = [0, 1]} : f32[4, 6]
      %18 = gather %x, %i {axis = 1} : f32[4, 6]
      %19 = index_select %x, %t {axis = 0} : f32[4, 6]
      %20 = scatter %x, %i, %1 {axis = 0, kind = add} : f32[4, 6]
      %21 = pool %im {kind = max, window = [2, 2], stride = [2, 2], low = [0, 0], high = [0, 0], dilation = [1, 1]} : f32[2, 6, 4, 4]
      %22 = adaptive_pool %im {kind = avg, spatial = 2} : f32[2, 6, 3, 3]
      %23 = resize %im {kind = linear, spatial = 2, align_corners = true, scale = [0.5, 0.25]} : f32[2, 6, 4, 2]
      %24 = matmul %x, %13, %four : f32[4, 4]
      %25 = conv %im, %w {stride = [1, 2], low = [1, 1], high = [1, 1], dilation = [1, 1], groups = 3} : f32[2, 9, 8, 4]
      %26 = attention %q, %k, %k {scale = 0.125, causal = true, safe = true} : f32[2, 5, 6]
      %27 = softmax %x {axis = 1, log = true} : f32[4, 6]
      %28 = norm %x, %ch, %ch {kind = layer, affine = true, eps = 1e-06} : f32[4, 6]
      %29 = leaky_relu %x {alpha = 0.01} : f32[4, 6]
      %30 = cross_entropy %x, %t {reduction = none, smoothing = 0.1} : f32[4]
      %31 = dropout %x, %s, %s {p = 0.1} : f32[4, 6]
      return %31, %x
    })");
  std::set<size_t> seen;
  for (const Node& node : graph.nodes()) seen.insert(node.op.index());
  EXPECT_EQ(seen.size(), std::variant_size_v<Op>) << "an op is missing from this test";
  expectRoundTrip(graph);
}

TEST(GraphText, KindsAreMnemonics) {
  std::string text = "graph @f(%x: f32[3], %y: f32[3], %i: i32[3]) {\n";
  int n = 0;
  for (auto name : EnumNames<UnaryKind>::names) {
    const auto kind = *fromName<UnaryKind>(name);
    const bool onFloat = isDefined(kind, DType::f32);
    const DType result = resultType(kind, onFloat ? DType::f32 : DType::i32);
    text += "%" + std::to_string(n++) + " = " + std::string(name) + (onFloat ? " %x : " : " %i : ") +
            std::string(nameOf(result)) + "[3]\n";
  }
  for (auto name : EnumNames<BinaryKind>::names) {
    const auto kind = *fromName<BinaryKind>(name);
    const bool onFloat = isDefined(kind, DType::f32);
    const DType result = resultType(kind, onFloat ? DType::f32 : DType::i32);
    text += "%" + std::to_string(n++) + " = " + std::string(name) + (onFloat ? " %x, %y : " : " %i, %i : ") +
            std::string(nameOf(result)) + "[3]\n";
  }
  for (auto name : EnumNames<ActivationKind>::names)
    text += "%" + std::to_string(n++) + " = " + std::string(name) + " %x : f32[3]\n";
  expectRoundTrip(parsed(text + "return %0 }"));
}

Graph constantGraph(Array data) {
  Graph graph;
  TensorType type{data.dtype(), {}};
  for (int64_t extent : data.shape()) type.shape.emplace_back(extent);
  graph.addOutput(graph.append(Node{Constant{std::make_shared<const Array>(std::move(data))}, {}, type, "", {}}));
  return graph;
}

TEST(GraphText, ConstantsOfEveryDtypeKeepTheirBits) {
  for (size_t t = 0; t < EnumNames<DType>::names.size(); ++t) {
    const DType dtype = static_cast<DType>(t);
    for (int64_t size : {0, 1, 7, 64, 65, 300}) {
      Array data(dtype, {size});
      uint64_t state = 88172645463325252ull + t;
      for (int64_t i = 0; i < data.bytes(); ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        data.as<unsigned char>()[i] = dtype == DType::boolean ? state & 1 : state & 0xff;
      }
      expectRoundTrip(constantGraph(std::move(data)));
    }
    expectRoundTrip(constantGraph(Array(dtype, {})));
    expectRoundTrip(constantGraph(Array(dtype, {3, 0, 2})));
  }
}

TEST(GraphText, ConstantsKeepSpecialNumbersReadable) {
  for (DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    Array data(dtype, {9});
    const double values[] = {0.0, -0.0, 0.1, 1.0, -1e-7, 65504.0, INFINITY, -INFINITY, std::nan("")};
    for (int i = 0; i < 9; ++i) data.setDouble(i, values[i]);
    if (isHalf(dtype)) data.setDouble(5, 1.5);
    const Graph graph = constantGraph(std::move(data));
    EXPECT_NE(print(graph).find("[0.0, -0.0, 0."), std::string::npos) << print(graph);
    EXPECT_NE(print(graph).find("inf, -inf, nan]"), std::string::npos) << print(graph);
    expectRoundTrip(graph);
  }
  Array odd(DType::f32, {1});
  odd.as<uint32_t>()[0] = 0xffc01234u;  // a NaN with a sign and a payload
  EXPECT_NE(print(constantGraph(odd)).find("hex\"3412c0ff\""), std::string::npos);
  expectRoundTrip(constantGraph(odd));
}

TEST(GraphText, ScalarsKeepTheirKind) {
  for (const char* value : {"0", "1", "-9223372036854775808", "9223372036854775807", "0.0", "-0.0", "1e-05", "nan",
                            "inf", "-inf", "5e-324", "1.7976931348623157e+308"}) {
    const std::string text = "graph @f() { %0 = full {value = " + std::string(value) + "} : f64[] return %0 }";
    const Graph graph = parsed(text);
    EXPECT_NE(print(graph).find("{value = " + std::string(value) + "}"), std::string::npos) << print(graph);
    expectRoundTrip(graph);
  }
  EXPECT_EQ(parsed("graph @f() { %0 = full {value = true} : bool[] return %0 }"),
            parsed("graph @f() { %0 = full {value = 1} : bool[] return %0 }"));
}

TEST(GraphText, SymbolicExtentsRoundTrip) {
  expectRoundTrip(parsed(R"(
    graph @f(%x: f32[M, 2*N + 1, max(M, N)], %y: f32[K - 1]) {
      %0 = reshape %x : f32[M*(2*N + 1), max(N, M)]
      %1 = slice %x {start = [0, N, 0], stride = [1, 1, 1]} : f32[M, N, max(M, N)]
      %2 = full {value = 1.0} : f32[floordiv(M*64, 33), mod(N, 8), ceildiv(K, 4), min(M, K), 3*M - 2*M]
      %3 = pad %y {low = [M], high = [1 - K], value = 0.0} : f32[M]
      return %0, %1, %2, %3
    })"));
}

}  // namespace
}  // namespace tokamak
