#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tokamak::infer {

/// Where a type is inferred: the op, its operands and what the program declares of the result, with the words for
/// what is wrong there.
struct Site {
  const Op& op;
  const std::vector<TensorType>& operands;
  const TensorType* declared;
  std::function<std::string(size_t)> label;  // of an operand: `%x`

  const TensorType& operand(size_t i) const { return operands[i]; }
  size_t count() const { return operands.size(); }
  /// `%x : f32[64]`.
  std::string show(size_t i) const { return label(i) + " : " + operands[i].str(); }

  /// T0201 to T0212 with `op: message`.
  Diagnostic fail(std::string code, std::string message, std::string hint) const;

  /// Between `least` and `most` operands. T0201.
  Result<> expectCount(size_t least, size_t most) const;
  Result<> expectCount(size_t exactly) const { return expectCount(exactly, exactly); }
  /// The declared type, which the op takes its shape or dtype from. T0211.
  Result<TensorType> needDeclared() const;
  /// T0202: the operand's dtype is `wanted`.
  Result<> expectDtype(size_t i, DType wanted) const;
  Result<> expectFloat(size_t i) const;
  /// T0202: all operands from `first` on have the dtype of operand `first`.
  Result<> expectOneDtype(size_t first = 0) const;
  /// T0203: the operand has exactly this shape.
  Result<> expectShape(size_t i, const Shape& wanted, std::string_view why) const;
  Result<> expectRank(size_t i, size_t least, std::string_view why) const;
  /// T0204: 0 <= axis < rank.
  Result<> expectAxis(Axis axis, size_t rank) const;
  /// T0204: axes increase and lie within rank.
  Result<> expectAxes(const std::vector<Axis>& axes, size_t rank) const;
  /// T0204: a list attribute has `length` entries, each at least `least`.
  Result<> expectList(std::string_view name, const std::vector<int64_t>& list, size_t length, int64_t least) const;
};

/// Whether `d` is below zero for all sizes of its symbols, which are zero or more.
bool isSurelyNegative(const Dim& d);
/// Whether a and b differ for all positive sizes of their symbols.
bool surelyDiffer(const Dim& a, const Dim& b);

/// Whether `value` can stand in a tensor of type `dtype`: an integer in its range, any number in a float. T0210.
Result<> expectFits(const Site& site, const Scalar& value, DType dtype);

/// Extent of a window's result, floor((n + low + high - dilation * (window - 1) - 1) / stride) + 1. T0203 when the
/// window is surely larger than what it slides over.
Result<Dim> windowExtent(const Site& site, const Dim& n, const Dim& window, int64_t stride, int64_t low, int64_t high,
                         int64_t dilation);

Result<TensorType> inferOp(const Input&, const Site&);
Result<TensorType> inferOp(const Constant&, const Site&);
Result<TensorType> inferOp(const Full&, const Site&);
Result<TensorType> inferOp(const Iota&, const Site&);
Result<TensorType> inferOp(const Random&, const Site&);
Result<TensorType> inferOp(const Unary&, const Site&);
Result<TensorType> inferOp(const Binary&, const Site&);
Result<TensorType> inferOp(const Select&, const Site&);
Result<TensorType> inferOp(const Clamp&, const Site&);
Result<TensorType> inferOp(const Cast&, const Site&);
Result<TensorType> inferOp(const Reduce&, const Site&);
Result<TensorType> inferOp(const Scan&, const Site&);
Result<TensorType> inferOp(const Broadcast&, const Site&);
Result<TensorType> inferOp(const Reshape&, const Site&);
Result<TensorType> inferOp(const Transpose&, const Site&);
Result<TensorType> inferOp(const Slice&, const Site&);
Result<TensorType> inferOp(const Pad&, const Site&);
Result<TensorType> inferOp(const Concat&, const Site&);
Result<TensorType> inferOp(const Flip&, const Site&);
Result<TensorType> inferOp(const Gather&, const Site&);
Result<TensorType> inferOp(const IndexSelect&, const Site&);
Result<TensorType> inferOp(const Scatter&, const Site&);
Result<TensorType> inferOp(const Pool&, const Site&);
Result<TensorType> inferOp(const AdaptivePool&, const Site&);
Result<TensorType> inferOp(const Resize&, const Site&);
Result<TensorType> inferOp(const MatMul&, const Site&);
Result<TensorType> inferOp(const Conv&, const Site&);
Result<TensorType> inferOp(const Attention&, const Site&);
Result<TensorType> inferOp(const Softmax&, const Site&);
Result<TensorType> inferOp(const Norm&, const Site&);
Result<TensorType> inferOp(const Activation&, const Site&);
Result<TensorType> inferOp(const CrossEntropy&, const Site&);
Result<TensorType> inferOp(const Dropout&, const Site&);

/// Visits the op.
Result<TensorType> inferAt(const Site& site);

/// T0206: rank, extents and element count that the rest of the compiler can count with.
Result<> checkType(const TensorType& type);

}  // namespace tokamak::infer
