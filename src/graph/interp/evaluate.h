#pragma once

#include <vector>

#include "graph/graph.h"
#include "support/array.h"

namespace tokamak {

/// How results of float ops are kept between ops.
enum class EvalPrecision {
  wide,     // float64 throughout; only casts the program wrote and the outputs round
  compute,  // rounded to f32 for f16, bf16 and f32 after every op: what a fused kernel does
  eager,    // rounded to the op's own dtype after every op: what PyTorch does
};

/// The oracle: evaluates node after node, with loops anyone can check, in float64 or exact integers. Symbolic
/// dimensions take their values from the inputs; a contradiction is a diagnostic. Outputs are rounded to their dtypes.
Result<std::vector<Array>> evaluate(const Graph& graph, const std::vector<Array>& inputs,
                                    EvalPrecision precision = EvalPrecision::wide);

/// Values of the symbols of `graph` for inputs of these shapes; checks every extent against them.
Result<DimBindings> bindDims(const Graph& graph, const std::vector<std::vector<int64_t>>& inputShapes);

}  // namespace tokamak
