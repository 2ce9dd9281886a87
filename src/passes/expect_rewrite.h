#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "graph/interp/evaluate.h"
#include "passes/pass.h"

/// What tests of passes share: `expectRewrite` and its pieces.
namespace tokamak {

/// Parses and verifies, or fails the test and gives an empty graph.
inline Graph parsed(std::string_view text) {
  Result<Graph> graph = parseGraph(text);
  if (!graph) ADD_FAILURE() << graph.error().str() << "\n" << text;
  return graph ? std::move(*graph) : Graph();
}

/// Values 3, 5, 4, 7, ... for the symbols of the inputs, in alphabetical order.
inline DimBindings smallDims(const Graph& graph) {
  std::set<std::string, std::less<>> symbols;
  for (ValueId input : graph.inputs())
    for (const Dim& extent : graph.type(input).shape) extent.collectSymbols(symbols);
  constexpr int64_t values[] = {3, 5, 4, 7, 2, 6};
  DimBindings dims;
  for (const auto& symbol : symbols) dims.emplace(symbol, values[dims.size() % std::size(values)]);
  return dims;
}

/// One random array for each input: floats in [-2, 2), among them NaN, infinities and zeros of both signs if `special`;
/// integers in [0, 4), so that they may serve as indices.
inline std::vector<Array> randomInputs(const Graph& graph, uint64_t seed, bool special) {
  std::mt19937_64 random(seed);
  const DimBindings dims = smallDims(graph);
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double specials[] = {nan, inf, -inf, 0.0, -0.0, 1.0, 60000.0};
  std::vector<Array> arrays;
  for (ValueId input : graph.inputs()) {
    std::vector<int64_t> shape;
    for (const Dim& extent : graph.type(input).shape) shape.push_back(extent.eval(dims).value());
    Array array(graph.type(input).dtype, shape);
    for (int64_t i = 0; i < array.size(); ++i) {
      if (!isFloat(array.dtype()))
        array.setInt(i, static_cast<int64_t>(random() % 4));
      else if (special && random() % 12 == 0)
        array.setDouble(i, specials[random() % std::size(specials)]);
      else
        array.setDouble(i, static_cast<double>(random() % 4096) / 1024.0 - 2.0);
    }
    arrays.push_back(std::move(array));
  }
  return arrays;
}

inline double toleranceOf(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-9;
    case DType::f32: return 2e-5;
    case DType::f16: return 4e-3;
    case DType::bf16: return 3e-2;
    default: return 0;
  }
}

/// Equal within a tolerance, relative above 1; NaN and infinities in the same places.
inline void expectClose(const Array& actual, const Array& expected, std::string_view what) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const double tolerance = toleranceOf(expected.dtype());
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.getDouble(i), e = expected.getDouble(i);
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const bool close =
        std::isfinite(a) && std::isfinite(e) && std::fabs(a - e) <= tolerance * std::max(1.0, std::fabs(e));
    ASSERT_TRUE(close) << what << ": element " << i << " is " << a << ", not " << e;
  }
}

/// Both graphs give the same on random inputs.
inline void expectSameResults(const Graph& actual, const Graph& expected,
                              EvalPrecision precision = EvalPrecision::wide) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto inputs = randomInputs(expected, seed, seed % 2 == 1);
    const auto e = evaluate(expected, inputs, precision), a = evaluate(actual, inputs, precision);
    ASSERT_TRUE(e.ok()) << e.error().str() << "\n" << print(expected);
    ASSERT_TRUE(a.ok()) << a.error().str() << "\n" << print(actual);
    ASSERT_EQ(a->size(), e->size());
    for (size_t i = 0; i < e->size(); ++i)
      expectClose((*a)[i], (*e)[i],
                  "output " + std::to_string(i) + ", seed " + std::to_string(seed) + "\n" + print(actual));
  }
}

/// Parses, verifies, runs, verifies, compares text, evaluates both sides in the reference evaluator on random inputs,
/// then reruns and expects no change. `after` that equals `before` says that the pass has nothing to do.
template <Pass P>
void expectRewrite(const P& pass, std::string_view before, std::string_view after) {
  const Graph original = parsed(before), expected = parsed(after);
  if (::testing::Test::HasFailure()) return;
  Graph graph = original;
  const auto changed = pass.run(graph);
  ASSERT_TRUE(changed.ok()) << changed.error().str();
  const auto verified = verify(graph);
  ASSERT_TRUE(verified.ok()) << verified.error().str() << "\n" << print(graph);
  EXPECT_EQ(print(graph), print(expected));
  EXPECT_EQ(*changed == Changed::yes, print(original) != print(expected));
  expectSameResults(graph, original);
  const std::string once = print(graph);
  const auto again = pass.run(graph);
  ASSERT_TRUE(again.ok()) << again.error().str();
  EXPECT_EQ(*again, Changed::no) << "a second run of " << P::name << " gives\n" << print(graph) << "after\n" << once;
}

template <Pass P>
void expectNoRewrite(const P& pass, std::string_view text) {
  expectRewrite(pass, text, text);
}

}  // namespace tokamak
