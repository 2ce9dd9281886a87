#pragma once

#include "sparse/stream/graph.h"

namespace tokamak::stream {

/// One operand of an operation on blocks: its elements row by row, or a single number.
struct BlockOperand {
  const double* elements = nullptr;
  BlockShape shape;
};

/// Computes `op` into `out`, which has `shape` = resultShape(op, ...). Absent operands are blocks of zeros.
void computeBlock(AluOp op, const std::vector<BlockOperand>& operands, BlockShape shape, double* out);

/// Numbers computed for one result: multiply-adds of a product, elements of all else.
uint64_t operationsOf(AluOp op, const std::vector<BlockShape>& operands, BlockShape shape);

/// Folds `b` into `a`, element by element.
void foldBlock(FoldOp op, double* a, const double* b, size_t elements);

/// The timing of the `comal` profiles for one result with this shape from operands of these: how long after its step it
/// is there, and how many cycles a step takes.
struct BlockTiming {
  uint64_t latency = 1, interval = 1;
};
BlockTiming blockTiming(AluOp op, int64_t extent);

}  // namespace tokamak::stream
