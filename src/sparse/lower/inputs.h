#pragma once

#include "sparse/einsum/evaluate.h"

namespace tokamak::sparse {

/// The inputs of a program in the formats and dtypes that it declares. T0905 where a value is not a number.
Result<Bindings> inDeclaredFormats(const Program& program, Bindings inputs);

}  // namespace tokamak::sparse
