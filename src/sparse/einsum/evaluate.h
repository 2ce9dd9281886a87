#pragma once

#include <map>

#include "sparse/einsum/program.h"
#include "sparse/format/tensor.h"

namespace tokamak::sparse {

/// Tensors by name.
using Bindings = std::map<std::string, Tensor, std::less<>>;
/// Row-major values by name.
using DenseValues = std::map<std::string, std::vector<double>, std::less<>>;

/// Takes the sizes of dimensions from the inputs. T0932 where an input is missing or of another rank, T0933 where sizes
/// contradict each other or stay unknown.
Result<> bindSizes(Program& program, const Bindings& inputs);

/// The values of all statements, in float64, one entry after another: the oracle that everything else is compared with.
/// Requires bound sizes.
DenseValues evaluate(const Program& program, const Bindings& inputs);

/// How many steps `evaluate` takes, to decide whether that is affordable.
double evaluationSteps(const Program& program);

}  // namespace tokamak::sparse
