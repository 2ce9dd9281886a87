#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace tokamak::kernel {

/// Which expressions (by ExprId) are index arithmetic: i64 made of loop variables, symbols, numbers that fit in 32 bits
/// and `let`s of such by + - * / fmod, min, max, and, select, ramp, splat and extract. They stay within the kernel's
/// `reach`, all other i64s are data: loaded, cast or folded.
///
/// A back end that computes them in 32 bits where the reach is below 2^31 widens them wherever they meet data: in an
/// operation with another i64, a store, an argument of philox.
std::vector<bool> indexExprs(const Kernel& kernel);

}  // namespace tokamak::kernel
