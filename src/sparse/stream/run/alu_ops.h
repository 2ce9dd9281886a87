#pragma once

#include "sparse/stream/node.h"

namespace tokamak::stream {

/// A product with a zero factor is zero whatever the other is, as if the zero were absent. Zero divided is zero
/// likewise.
inline double multiply(double a, double b) { return a == 0 || b == 0 ? 0.0 : a * b; }

/// What an operation computes on numbers. Comparisons give 1 or 0. Operations of blocks only are not among them.
using Unary = double (*)(double);
using Binary = double (*)(double, double);
Unary unaryOf(AluOp op);
Binary binaryOf(AluOp op);

}  // namespace tokamak::stream
