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
                                    EvalPrecision precision = EvalPrecision::wide, const DimBindings& known = {});

/// As `evaluate` in compute precision, but with random rounding errors of a few units in the last place on every
/// inexact result, and halves rounded to their own dtype at some nodes: outputs under several seeds show how far a
/// correct implementation may stray, and where a comparison or a rounding may fall either way. Sums, products
/// and pointwise results that f32 holds, such as small integers, stay exact. Seed 0 errs away from zero everywhere,
/// seed 1 toward it.
Result<std::vector<Array>> evaluatePerturbed(const Graph& graph, const std::vector<Array>& inputs, uint64_t seed,
                                             const DimBindings& known = {});

/// Values of the symbols of `graph` for inputs of these shapes, beside those that are `known`; checks every extent
/// against them.
Result<DimBindings> bindDims(const Graph& graph, const std::vector<std::vector<int64_t>>& inputShapes,
                             const DimBindings& known = {});

}  // namespace tokamak
