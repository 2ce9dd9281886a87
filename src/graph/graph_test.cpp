#include "graph/graph.h"

#include <gtest/gtest.h>

namespace tokamak {
namespace {

TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

TEST(Graph, ListsUsersOnceARead) {
  Graph g;
  const ValueId x = g.addInput("x", f32({2}));
  const ValueId square = g.append({Binary{BinaryKind::mul}, {x, x}, f32({2}), "", {}});
  const ValueId sum = g.append({Binary{BinaryKind::add}, {square, x}, f32({2}), "", {}});
  g.addOutput(sum);
  const auto users = g.users();
  EXPECT_EQ(users[x.index], (std::vector{square, square, sum}));
  EXPECT_EQ(users[square.index], (std::vector{sum}));
  EXPECT_TRUE(users[sum.index].empty());
  EXPECT_TRUE(verify(g).ok());
}

TEST(Graph, KeepsNamesApartAndNumbersTheRest) {
  Graph g;
  const ValueId x = g.addInput("x", f32({2}));
  const ValueId a = g.append({Unary{UnaryKind::exp}, {x}, f32({2}), "mean", {}});
  const ValueId b = g.append({Unary{UnaryKind::exp}, {a}, f32({2}), "", {}});
  const ValueId c = g.append({Unary{UnaryKind::exp}, {b}, f32({2}), "mean", {}});
  const ValueId d = g.append({Unary{UnaryKind::exp}, {c}, f32({2}), "", {}});
  g.addOutput(d);
  EXPECT_EQ(g.label(x), "%x");
  EXPECT_EQ(g.label(b), "%0");
  EXPECT_EQ(g.label(c), "%mean_1");
  EXPECT_EQ(g.label(d), "%1");
  EXPECT_EQ(g.label(ValueId{}), "%<none>");
  EXPECT_TRUE(verify(g).ok());
  EXPECT_EQ(*parseGraph(print(g)), g);
}

TEST(Graph, VerifierRefusesBrokenStructure) {
  const auto code = [](const Graph& g) { return verify(g).ok() ? "ok" : verify(g).error().code; };
  Graph cycle;
  const ValueId x = cycle.addInput("x", f32({2}));
  const ValueId y = cycle.append({Unary{UnaryKind::exp}, {x}, f32({2}), "", {}});
  cycle.addOutput(y);
  EXPECT_EQ(code(cycle), "ok");
  Graph itself = cycle;
  itself.node(y).operands = {y};
  EXPECT_EQ(code(itself), "T0207");
  Graph none = cycle;
  none.node(y).operands = {ValueId{}};
  EXPECT_EQ(code(none), "T0207");
  Graph outside = cycle;
  outside.setOutputs({ValueId(9)});
  EXPECT_EQ(code(outside), "T0207");
  Graph late = cycle;
  late.addInput("z", f32({2}));
  EXPECT_EQ(code(late), "T0207");
  Graph fake = cycle;
  fake.append({Input{}, {}, f32({2}), "z", {}});
  EXPECT_EQ(code(fake), "T0207");
  Graph twice = cycle;
  twice.node(y).name = "x";
  EXPECT_EQ(code(twice), "T0207");
  Graph number = cycle;
  number.node(y).name = "12";
  EXPECT_EQ(code(number), "T0207");
  Graph odd = cycle;
  odd.name = "a b";
  EXPECT_EQ(code(odd), "T0207");
}

TEST(Op, HashFollowsEquality) {
  EXPECT_EQ(hashOf(Full{Scalar::of(0.5)}), hashOf(Full{Scalar::of(0.5)}));
  EXPECT_EQ(hashOf(Full{Scalar::of(0.0 / 0.0)}), hashOf(Full{Scalar::of(-(0.0 / 0.0))}));
  EXPECT_NE(hashOf(Full{Scalar::of(1.0)}), hashOf(Full{Scalar::of(int64_t{1})}));
  EXPECT_NE(hashOf(Unary{UnaryKind::exp}), hashOf(Unary{UnaryKind::log}));
  EXPECT_NE(hashOf(Binary{BinaryKind::max}), hashOf(Reduce{ReduceKind::max, {0}}));
  EXPECT_NE(hashOf(Reduce{ReduceKind::sum, {0}}), hashOf(Reduce{ReduceKind::sum, {0, 1}}));
  EXPECT_NE(hashOf(Slice{{Dim(0)}, {1}}), hashOf(Slice{{Dim::symbol("N")}, {1}}));
  auto one = std::make_shared<Array>(DType::f32, std::vector<int64_t>{2}), two = std::make_shared<Array>(*one);
  EXPECT_EQ(hashOf(Constant{one}), hashOf(Constant{two}));
  EXPECT_EQ(Op(Constant{one}), Op(Constant{two}));
  two->setDouble(1, 3);
  EXPECT_NE(hashOf(Constant{one}), hashOf(Constant{two}));
  EXPECT_NE(Op(Constant{one}), Op(Constant{two}));
}

TEST(Op, KnowsItsFamily) {
  EXPECT_EQ(mnemonic(Unary{UnaryKind::rsqrt}), "rsqrt");
  EXPECT_EQ(mnemonic(Binary{BinaryKind::bit_and}), "and");
  EXPECT_EQ(mnemonic(Activation{ActivationKind::gelu_tanh}), "gelu_tanh");
  EXPECT_EQ(mnemonic(MatMul{}), "matmul");
  EXPECT_TRUE(isElementwise(Cast{}) && isElementwise(Select{}) && !isElementwise(Activation{}) &&
              !isElementwise(Iota{}));
  EXPECT_TRUE(isComposite(Norm{}) && isComposite(Activation{}) && !isComposite(Attention{}) && !isComposite(Unary{}));
}

}  // namespace
}  // namespace tokamak
