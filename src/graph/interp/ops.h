#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/interp/value.h"

/// How each op is evaluated, by family: one overload of `apply` an op, so that the dispatch in evaluate.cpp does not
/// compile while one is missing. Results are unrounded; `evaluate` rounds them as its precision asks, except that
/// sources and casts give values their dtype can hold.
namespace tokamak::interp {

/// One node about to be evaluated.
struct Call {
  const Graph& graph;
  ValueId id;
  const DimBindings& dims;
  std::vector<const Value*> operands;
  Extents shape;         // of the result
  double meanError = 0;  // relative; made on the means of normalisations, which cancel against their operands

  const Value& operand(size_t i) const { return *operands[i]; }
  DType dtype() const { return graph.type(id).dtype; }
  Value result() const { return Value(dtype(), shape); }
  /// A diagnostic at the node: `%3: message`.
  Diagnostic error(std::string code, const std::string& message, std::string hint) const;
};

/// What no integer of the dtype is beyond: below it, or above it.
int64_t extremeOf(DType dtype, bool least);

/// The node's own op on the call's operands.
Result<Value> applyOp(const Call& call);

Result<Value> apply(const Input&, const Call&);
Result<Value> apply(const Constant&, const Call&);
Result<Value> apply(const Full&, const Call&);
Result<Value> apply(const Iota&, const Call&);
Result<Value> apply(const Random&, const Call&);

Result<Value> apply(const Unary&, const Call&);
Result<Value> apply(const Binary&, const Call&);
Result<Value> apply(const Select&, const Call&);
Result<Value> apply(const Clamp&, const Call&);
Result<Value> apply(const Cast&, const Call&);

Result<Value> apply(const Reduce&, const Call&);
Result<Value> apply(const Scan&, const Call&);

Result<Value> apply(const Broadcast&, const Call&);
Result<Value> apply(const Reshape&, const Call&);
Result<Value> apply(const Transpose&, const Call&);
Result<Value> apply(const Slice&, const Call&);
Result<Value> apply(const Pad&, const Call&);
Result<Value> apply(const Concat&, const Call&);
Result<Value> apply(const Flip&, const Call&);

Result<Value> apply(const Gather&, const Call&);
Result<Value> apply(const IndexSelect&, const Call&);
Result<Value> apply(const Scatter&, const Call&);

Result<Value> apply(const Pool&, const Call&);
Result<Value> apply(const AdaptivePool&, const Call&);
Result<Value> apply(const Resize&, const Call&);

Result<Value> apply(const MatMul&, const Call&);
Result<Value> apply(const Conv&, const Call&);
Result<Value> apply(const Attention&, const Call&);

Result<Value> apply(const Softmax&, const Call&);
Result<Value> apply(const Norm&, const Call&);
Result<Value> apply(const Activation&, const Call&);
Result<Value> apply(const CrossEntropy&, const Call&);
Result<Value> apply(const Dropout&, const Call&);

}  // namespace tokamak::interp
