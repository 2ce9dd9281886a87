#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "graph/interp/evaluate.h"

namespace tokamak::testing {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline Array array(DType dtype, std::vector<int64_t> shape, std::initializer_list<double> elements) {
  Array out(dtype, std::move(shape));
  EXPECT_EQ(out.size(), static_cast<int64_t>(elements.size()));
  int64_t i = 0;
  for (double element : elements) out.setDouble(i++, element);
  return out;
}

inline TensorType typeOf(const Array& array) {
  return {array.dtype(), Shape(array.shape().begin(), array.shape().end())};
}

/// A graph of one op whose operands are its inputs.
inline Graph graphOf(Op op, const std::vector<Array>& operands, TensorType type) {
  Graph graph;
  Node node{std::move(op), {}, std::move(type), {}, {}};
  for (size_t i = 0; i < operands.size(); ++i)
    node.operands.push_back(graph.addInput("x" + std::to_string(i), typeOf(operands[i])));
  graph.addOutput(graph.append(std::move(node)));
  return graph;
}

inline Array evaluateOp(Op op, const std::vector<Array>& operands, TensorType type,
                        EvalPrecision precision = EvalPrecision::wide) {
  auto outputs = evaluate(graphOf(std::move(op), operands, std::move(type)), operands, precision);
  EXPECT_TRUE(outputs.ok()) << outputs.error().str();
  return outputs.ok() ? outputs->at(0) : Array();
}

/// Evaluates `op` and compares: integers exactly, floats within 2e-6, NaN and infinities in place.
inline void expectResult(Op op, const std::vector<Array>& operands, const Array& expected) {
  const Array actual = evaluateOp(std::move(op), operands, typeOf(expected));
  ASSERT_EQ(actual.shape(), expected.shape());
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double e = expected.getDouble(i), a = actual.getDouble(i);
    if (std::isfinite(e))
      EXPECT_NEAR(a, e, isFloat(expected.dtype()) ? 2e-6 * (1 + std::abs(e)) : 0.0) << mnemonic(op) << " at " << i;
    else
      EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
          << mnemonic(op) << " at " << i << ": " << a << ", not " << e;
  }
}

}  // namespace tokamak::testing
