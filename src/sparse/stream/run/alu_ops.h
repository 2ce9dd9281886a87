#pragma once

#include "sparse/stream/node.h"

namespace tokamak::stream {

/// What an operation computes on numbers. Comparisons give 1 or 0. Operations of blocks only are not among them.
using Unary = double (*)(double);
using Binary = double (*)(double, double);
Unary unaryOf(AluOp op);
Binary binaryOf(AluOp op);

}  // namespace tokamak::stream
