#pragma once

#include "sparse/einsum/syntax.h"

namespace tokamak::sparse {

/// Looks up the names of `target = value`, gives variables their dimensions, sums terms over variables that are not on
/// the left, and adds the statement. A target that is not declared becomes a temp.
Result<> addStatement(Program& program, const Cursor& cursor, const Syntax& target, const Syntax& value);

}  // namespace tokamak::sparse
