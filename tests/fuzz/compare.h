#pragma once

#include <vector>

#include "graph/graph.h"
#include "support/array.h"

namespace tokamak::fuzz {

/// Whether `actual` are outputs that a correct back end may give for `graph` on `inputs`.
///
/// The reference is float64 evaluation. How far rounding may move an element is learnt from evaluations in compute and
/// eager precision and from several with random rounding errors: with d the largest distance of any of them from the
/// reference, |actual - reference| <= tolerance(dtype) * (|reference| + 0.01 + m / 10) + 64 * d passes, m
/// being the output's largest magnitude. NaN matches NaN,
/// infinities match themselves, integers and bool match exactly. Where the evaluations disagree on NaN, infinity or an
/// integer, rounding decides and anything passes. The diagnostic names the output and the element.
Result<> compareOutputs(const Graph& graph, const std::vector<Array>& inputs, const std::vector<Array>& actual);

}  // namespace tokamak::fuzz
