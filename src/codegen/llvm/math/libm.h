#pragma once

#include <string_view>

#include "codegen/llvm/math/expr.h"

namespace tokamak::codegen::math {

/// Calls the C library's `name` (double in, double out) on every lane of `arguments`, which have one type. Floats are
/// widened first and the result is rounded back.
Expr callLibm(std::string_view name, std::initializer_list<Expr> arguments);

}  // namespace tokamak::codegen::math
