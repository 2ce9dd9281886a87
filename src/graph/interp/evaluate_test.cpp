#include "graph/interp/evaluate.h"

#include <gtest/gtest.h>

#include "graph/interp/testing.h"
#include "support/philox.h"

namespace tokamak {
namespace {

using testing::array;
using testing::evaluateOp;
using testing::expectResult;
using testing::graphOf;
using testing::kInf;
using testing::kNaN;

const Dim kM = Dim::symbol("M"), kN = Dim::symbol("N");

Graph inputsOf(const std::vector<Shape>& shapes) {
  Graph graph;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const auto id = graph.addInput("x" + std::to_string(i), {DType::f32, shapes[i]});
    graph.addOutput(id);
  }
  return graph;
}

TEST(BindDims, SolvesSymbolsInAnyOrder) {
  const auto dims = bindDims(inputsOf({{kM * kN, 4}, {kM + 1}, {kN}}), {{6, 4}, {3}, {3}});
  ASSERT_TRUE(dims.ok()) << dims.error().str();
  EXPECT_EQ(*dims, (DimBindings{{"M", 2}, {"N", 3}}));
}

TEST(BindDims, SolvesLinearExtents) {
  EXPECT_EQ(bindDims(inputsOf({{kN * 2 + 1}}), {{7}})->at("N"), 3);
  EXPECT_EQ(bindDims(inputsOf({{Dim(8) - kN}}), {{5}})->at("N"), 3);
  EXPECT_EQ(bindDims(inputsOf({{kN * 2}}), {{7}}).error().code, "T0313");
  EXPECT_EQ(bindDims(inputsOf({{kN + 8}}), {{7}}).error().code, "T0313");
}

TEST(BindDims, RefusesContradictions) {
  EXPECT_EQ(bindDims(inputsOf({{kN}, {kN}}), {{3}, {4}}).error().code, "T0313");
  EXPECT_EQ(bindDims(inputsOf({{kN, 4}}), {{3, 5}}).error().code, "T0313");
  EXPECT_EQ(bindDims(inputsOf({{kN, Dim::floorDiv(kN, 2)}}), {{7, 4}}).error().code, "T0313");
  EXPECT_TRUE(bindDims(inputsOf({{kN, Dim::floorDiv(kN, 2)}}), {{7, 3}}).ok());
  EXPECT_EQ(bindDims(inputsOf({{kN}}), {}).error().code, "T0310");
  EXPECT_EQ(bindDims(inputsOf({{kN}}), {{1, 2}}).error().code, "T0312");
  EXPECT_EQ(bindDims(inputsOf({{kM * kN}}), {{6}}).error().code, "T0315");
  EXPECT_NE(bindDims(inputsOf({{kN}, {kN}}), {{3}, {4}}).error().message.find("%x1"), std::string::npos);
}

TEST(BindDims, RefusesNegativeAndUnknownExtents) {
  Graph graph = inputsOf({{kN}});
  graph.addOutput(graph.append({Full{Scalar::of(0.0)}, {}, {DType::f32, {kN - 4}}, {}, {}}));
  EXPECT_TRUE(bindDims(graph, {{4}}).ok());
  EXPECT_EQ(bindDims(graph, {{3}}).error().code, "T0317");
  graph.append({Full{Scalar::of(0.0)}, {}, {DType::f32, {kM}}, {}, {}});
  EXPECT_EQ(bindDims(graph, {{4}}).error().code, "T0317");
}

TEST(Evaluate, RefusesWrongInputs) {
  const Graph graph = inputsOf({{2}});
  EXPECT_EQ(evaluate(graph, {Array(DType::f64, {2})}).error().code, "T0311");
  EXPECT_EQ(evaluate(graph, {}).error().code, "T0310");
  EXPECT_EQ(evaluate(graph, {Array(DType::f32, {3})}).error().code, "T0313");
}

TEST(Evaluate, RefusesWhatDoesNotFitInMemory) {
  for (int64_t extent : {int64_t{1} << 45, int64_t{1} << 62}) {
    const Graph graph = graphOf(Full{Scalar::of(0.0)}, {}, {DType::f32, {extent, 4}});
    EXPECT_EQ(evaluate(graph, {}).error().code, "T0317");
  }
}

TEST(Evaluate, RefusesFoldsOfNothingAndReadsBeyond) {
  const Array empty(DType::f32, {2, 0});
  EXPECT_EQ(evaluate(graphOf(Reduce{ReduceKind::max, {1}}, {empty}, {DType::f32, {2}}), {empty}).error().code, "T0319");
  EXPECT_TRUE(evaluate(graphOf(Reduce{ReduceKind::max, {0}}, {empty}, {DType::f32, {0}}), {empty}).ok());
  const Array x(DType::f32, {4});
  EXPECT_EQ(evaluate(graphOf(Slice{{2}, {2}}, {x}, {DType::f32, {2}}), {x}).error().code, "T0320");
  EXPECT_EQ(evaluate(graphOf(Reshape{}, {x}, {DType::f32, {3}}), {x}).error().code, "T0318");
  const Array index(DType::i64, {2, 1});
  const Array wide(DType::i64, {5, 1}), narrow(DType::f32, {4, 1});
  EXPECT_EQ(evaluate(graphOf(Gather{1}, {narrow, wide}, {DType::f32, {5, 1}}), {narrow, wide}).error().code, "T0322");
  EXPECT_EQ(evaluate(graphOf(Gather{1}, {empty, index}, {DType::f32, {2, 1}}), {empty, index}).error().code, "T0321");
}

TEST(Evaluate, RefusesIndicesOutOfRangeWhereTheyAreChecked) {
  const Array table(DType::f32, {3, 2});
  Array index(DType::i64, {2});
  const auto code = [&](int64_t i, bool checked) {
    index.setInt(1, i);
    const auto out = evaluate(graphOf(IndexSelect{0, checked}, {table, index}, {DType::f32, {2, 2}}), {table, index});
    return out ? "" : out.error().code;
  };
  EXPECT_EQ(code(2, true), "");
  EXPECT_EQ(code(3, false), "");
  EXPECT_EQ(code(3, true), "T0323");
  EXPECT_EQ(code(-1, true), "T0323");
  Array at(DType::i64, {1, 2});
  at.setInt(0, 3);
  const auto gathered = evaluate(graphOf(Gather{0, true}, {table, at}, {DType::f32, {1, 2}}), {table, at});
  EXPECT_EQ(gathered.error().code, "T0323");
}

TEST(Evaluate, KeepsInputsExactly) {
  Array big(DType::i64, {2});
  big.setInt(0, std::numeric_limits<int64_t>::min() + 1);
  big.setInt(1, (int64_t{1} << 53) + 1);
  EXPECT_EQ(evaluateOp(Flip{{0}}, {big}, {DType::i64, {2}}).getInt(0), (int64_t{1} << 53) + 1);
  for (int t = 0; t < 10; ++t) {
    const auto dtype = static_cast<DType>(t);
    const Array x = array(dtype, {1, 3}, {1, 0, 1});
    EXPECT_EQ(evaluateOp(Reshape{}, {x}, {dtype, {3}}).as<uint8_t>()[0], x.as<uint8_t>()[0]);
  }
}

TEST(Evaluate, RoundsAsThePrecisionAsks) {
  // (x + 1) - x in halves: 2048 + 1 is not an f16, nor 2^24 + 1 an f32.
  const auto difference = [](DType dtype, double value, EvalPrecision precision) {
    Graph graph;
    const auto x = graph.addInput("x", {dtype, {}});
    const auto one = graph.append({Full{Scalar::of(1.0)}, {}, {dtype, {}}, {}, {}});
    const auto sum = graph.append({Binary{BinaryKind::add}, {x, one}, {dtype, {}}, {}, {}});
    graph.addOutput(graph.append({Binary{BinaryKind::sub}, {sum, x}, {dtype, {}}, {}, {}}));
    return evaluate(graph, {array(dtype, {}, {value})}, precision)->at(0).getDouble(0);
  };
  EXPECT_EQ(difference(DType::f16, 2048, EvalPrecision::wide), 1);
  EXPECT_EQ(difference(DType::f16, 2048, EvalPrecision::compute), 1);
  EXPECT_EQ(difference(DType::f16, 2048, EvalPrecision::eager), 0);
  EXPECT_EQ(difference(DType::bf16, 256, EvalPrecision::eager), 0);
  EXPECT_EQ(difference(DType::f32, 0x1p24, EvalPrecision::wide), 1);
  EXPECT_EQ(difference(DType::f32, 0x1p24, EvalPrecision::compute), 0);
  EXPECT_EQ(difference(DType::f64, 0x1p24, EvalPrecision::eager), 1);
}

TEST(Evaluate, WrittenCastsAlwaysRoundSyntheticOnesDoNot) {
  const auto there = [](bool synthetic, EvalPrecision precision) {
    Graph graph;
    const auto x = graph.addInput("x", {DType::f32, {}});
    const auto half = graph.append({Cast{synthetic}, {x}, {DType::f16, {}}, {}, {}});
    graph.addOutput(graph.append({Cast{synthetic}, {half}, {DType::f32, {}}, {}, {}}));
    return evaluate(graph, {array(DType::f32, {}, {2049})}, precision)->at(0).getDouble(0);
  };
  for (auto precision : {EvalPrecision::wide, EvalPrecision::compute, EvalPrecision::eager})
    EXPECT_EQ(there(false, precision), 2048);
  EXPECT_EQ(there(true, EvalPrecision::wide), 2049);
  EXPECT_EQ(there(true, EvalPrecision::compute), 2049);
  EXPECT_EQ(there(true, EvalPrecision::eager), 2048);
}

TEST(Evaluate, Casts) {
  const Array x = array(DType::f32, {6}, {-1.5, 0.25, kNaN, kInf, 300.7, -0.0});
  expectResult(Cast{}, {x}, array(DType::i32, {6}, {-1, 0, 0, -1, 300, 0}));  // i64's maximum wraps to -1
  expectResult(Cast{}, {x}, array(DType::u8, {6}, {255, 0, 0, 255, 44, 0}));
  expectResult(Cast{}, {x}, array(DType::boolean, {6}, {1, 1, 1, 1, 1, 0}));
  expectResult(Cast{}, {array(DType::i64, {2}, {257, -1})}, array(DType::bf16, {2}, {256, -1}));
  expectResult(Cast{}, {array(DType::boolean, {2}, {1, 0})}, array(DType::f64, {2}, {1, 0}));
}

TEST(Evaluate, Elementwise) {
  const Array a = array(DType::f32, {4}, {1, kNaN, -2, 3}), b = array(DType::f32, {4}, {2, 1, -2, kInf});
  expectResult(Binary{BinaryKind::lt}, {a, b}, array(DType::boolean, {4}, {1, 0, 0, 1}));
  expectResult(Binary{BinaryKind::max}, {a, b}, array(DType::f32, {4}, {2, kNaN, -2, kInf}));
  expectResult(Unary{UnaryKind::isnan}, {a}, array(DType::boolean, {4}, {0, 1, 0, 0}));
  expectResult(Unary{UnaryKind::neg}, {array(DType::u8, {2}, {1, 0})}, array(DType::u8, {2}, {255, 0}));
  const Array c = array(DType::boolean, {4}, {1, 0, 1, 0});
  expectResult(Select{}, {c, a, b}, array(DType::f32, {4}, {1, 1, -2, kInf}));
  expectResult(Select{}, {c, c, c}, array(DType::boolean, {4}, {1, 0, 1, 0}));
  // torch.clamp: NaN anywhere gives NaN; the upper bound wins.
  expectResult(Clamp{},
               {array(DType::f32, {4}, {kNaN, 1, 5, 1}), array(DType::f32, {4}, {0, kNaN, 3, 3}),
                array(DType::f32, {4}, {2, 2, 2, 2})},
               array(DType::f32, {4}, {kNaN, kNaN, 2, 2}));
  expectResult(Clamp{}, {array(DType::i8, {1}, {-7}), array(DType::i8, {1}, {-3}), array(DType::i8, {1}, {2})},
               array(DType::i8, {1}, {-3}));
}

TEST(Evaluate, ShapeOps) {
  const Array x = array(DType::i32, {2, 3}, {0, 1, 2, 3, 4, 5});
  expectResult(Transpose{{1, 0}}, {x}, array(DType::i32, {3, 2}, {0, 3, 1, 4, 2, 5}));
  expectResult(Flip{{1}}, {x}, array(DType::i32, {2, 3}, {2, 1, 0, 5, 4, 3}));
  expectResult(Flip{{0, 1}}, {x}, array(DType::i32, {2, 3}, {5, 4, 3, 2, 1, 0}));
  expectResult(Slice{{1, 0}, {1, 2}}, {x}, array(DType::i32, {1, 2}, {3, 5}));
  expectResult(Slice{{2, 3}, {1, 1}}, {x}, array(DType::i32, {0, 0}, {}));
  expectResult(Pad{{0, 1}, {1, -1}, Scalar::of(int64_t{9})}, {x},
               array(DType::i32, {3, 3}, {9, 0, 1, 9, 3, 4, 9, 9, 9}));
  expectResult(Pad{{0, -2}, {0, 0}, Scalar::of(int64_t{9})}, {x}, array(DType::i32, {2, 1}, {2, 5}));
  expectResult(Pad{{0, -4}, {0, 3}, Scalar::of(int64_t{9})}, {x}, array(DType::i32, {2, 2}, {9, 9, 9, 9}));
  expectResult(Concat{1}, {x, array(DType::i32, {2, 1}, {7, 8})}, array(DType::i32, {2, 4}, {0, 1, 2, 7, 3, 4, 5, 8}));
  expectResult(Concat{0}, {Array(DType::i32, {0, 3}), x}, x);
  expectResult(Broadcast{{1}}, {array(DType::f16, {2}, {1, 2})}, array(DType::f16, {2, 2}, {1, 2, 1, 2}));
  expectResult(Broadcast{{0, 2}}, {array(DType::f16, {2, 1}, {1, 2})}, array(DType::f16, {2, 1, 2}, {1, 1, 2, 2}));
  expectResult(Broadcast{{}}, {array(DType::boolean, {}, {1})}, array(DType::boolean, {2}, {1, 1}));
  expectResult(Iota{1}, {}, array(DType::f32, {2, 3}, {0, 1, 2, 0, 1, 2}));
  expectResult(Full{Scalar::of(0.1)}, {}, array(DType::bf16, {1}, {0.1}));
  expectResult(Full{Scalar::of(int64_t{300})}, {}, array(DType::u8, {}, {44}));
}

TEST(Evaluate, NegativeAndWildIndices) {
  const Array x = array(DType::f32, {3}, {10, 20, 30}), index = array(DType::i64, {4}, {-1, -3, 7, -9});
  expectResult(Gather{0}, {x, index}, array(DType::f32, {4}, {30, 10, 30, 10}));
  expectResult(IndexSelect{0}, {x, index}, array(DType::f32, {4}, {30, 10, 30, 10}));
  expectResult(Scatter{0, ScatterKind::add}, {x, index, array(DType::f32, {4}, {1, 2, 4, 8})},
               array(DType::f32, {3}, {12, 20, 31}));
  expectResult(Scatter{0, ScatterKind::set}, {x, array(DType::i32, {2}, {1, 1}), array(DType::f32, {2}, {5, 6})},
               array(DType::f32, {3}, {10, 6, 30}));
  expectResult(Scatter{0, ScatterKind::max}, {x, array(DType::i64, {1}, {0}), array(DType::f32, {1}, {kNaN})},
               array(DType::f32, {3}, {kNaN, 20, 30}));
}

TEST(Evaluate, AttentionWithNothingVisible) {
  const Array one = array(DType::f32, {1, 1}, {1}), hidden = array(DType::boolean, {1, 1}, {0});
  expectResult(Attention{}, {one, one, one, hidden}, array(DType::f32, {1, 1}, {kNaN}));
  expectResult(Attention{0, false, true}, {one, one, one, hidden}, array(DType::f32, {1, 1}, {0}));
}

TEST(Evaluate, Random) {
  const Array seed = array(DType::i64, {}, {42}), offset = array(DType::i64, {}, {7});
  const Array bits = evaluateOp(Random{RandomKind::bits}, {seed, offset}, {DType::i64, {1000}});
  const Array uniform = evaluateOp(Random{RandomKind::uniform}, {seed, offset}, {DType::f32, {1000}});
  const Array normal = evaluateOp(Random{RandomKind::normal}, {seed, offset}, {DType::f64, {10, 100}});
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(bits.getInt(i), philoxWord(42, 7, i));
    EXPECT_EQ(uniform.getDouble(i), static_cast<double>(bits.getInt(i) >> 8) / (1 << 24));
    sum += normal.getDouble(i), squares += normal.getDouble(i) * normal.getDouble(i);
  }
  EXPECT_NEAR(sum / 1000, 0, 0.1);
  EXPECT_NEAR(squares / 1000, 1, 0.15);
  const double u1 = static_cast<double>((bits.getInt(4) >> 8) + 1) * 0x1p-24, u2 = uniform.getDouble(5);
  EXPECT_NEAR(normal.getDouble(5), std::sqrt(-2 * std::log(u1)) * std::sin(2 * M_PI * u2), 1e-12);
}

TEST(Evaluate, Dropout) {
  const Array seed = array(DType::i64, {}, {1}), offset = array(DType::i64, {}, {0});
  Array x(DType::f32, {2000});
  for (int64_t i = 0; i < x.size(); ++i) x.setDouble(i, 3);
  const Array uniform = evaluateOp(Random{}, {seed, offset}, {DType::f32, {2000}});
  const Array kept = evaluateOp(Dropout{0.25}, {x, seed, offset}, {DType::f32, {2000}});
  for (int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(kept.getDouble(i), uniform.getDouble(i) >= 0.25 ? 4 : 0);
  EXPECT_EQ(evaluateOp(Dropout{1}, {x, seed, offset}, {DType::f32, {2000}}), Array(DType::f32, {2000}));
  EXPECT_EQ(evaluateOp(Dropout{0}, {x, seed, offset}, {DType::f32, {2000}}), x);
}

TEST(Evaluate, SymbolicGraphWithSeveralOutputs) {
  Graph graph;
  const auto x = graph.addInput("x", {DType::f32, {kM, 2}});
  const auto rows = graph.append({Reduce{ReduceKind::sum, {1}}, {x}, {DType::f32, {kM}}, {}, {}});
  const auto tail = graph.append({Slice{{kM - 1}, {1}}, {rows}, {DType::f32, {1}}, {}, {}});
  graph.append({Unary{UnaryKind::exp}, {rows}, {DType::f32, {kM}}, {}, {}});  // nobody reads it
  graph.setOutputs({tail, rows, x});
  for (int64_t m : {1, 3}) {
    Array input(DType::f32, {m, 2});
    for (int64_t i = 0; i < input.size(); ++i) input.setInt(i, i);
    const auto outputs = evaluate(graph, {input});
    ASSERT_TRUE(outputs.ok()) << outputs.error().str();
    EXPECT_EQ(outputs->at(0).getDouble(0), 4 * m - 3);
    EXPECT_EQ(outputs->at(1).shape(), (std::vector<int64_t>{m}));
    EXPECT_EQ(outputs->at(2), input);
  }
  EXPECT_EQ(evaluate(graph, {Array(DType::f32, {0, 2})}).error().code, "T0320");
}

}  // namespace
}  // namespace tokamak
