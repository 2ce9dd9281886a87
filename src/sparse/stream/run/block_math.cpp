#include "sparse/stream/run/block_math.h"

#include <cstring>

#include "sparse/stream/run/alu_ops.h"
#include "sparse/stream/run/fold.h"

namespace tokamak::stream {

namespace {

/// Element (r, c) of an operand, where a number or an extent of 1 stretches.
double at(const BlockOperand& operand, int64_t r, int64_t c) {
  if (operand.shape.isNumber()) return *operand.elements;
  const int64_t row = operand.shape.rows == 1 ? 0 : r, column = operand.shape.columns == 1 ? 0 : c;
  return operand.elements[row * operand.shape.columns + column];
}

void elementwise(AluOp op, const std::vector<BlockOperand>& operands, BlockShape shape, double* out) {
  const int count = static_cast<int>(operands.size());
  const Unary unary = count == 1 ? unaryOf(op) : nullptr;
  const Binary binary = count == 2 ? binaryOf(op) : nullptr;
  for (int64_t r = 0; r < shape.rows; ++r)
    for (int64_t c = 0; c < shape.columns; ++c, ++out) {
      const double first = at(operands[0], r, c);
      if (count == 1)
        *out = unary(first);
      else if (count == 2)
        *out = binary(first, at(operands[1], r, c));
      else
        *out = first != 0 ? at(operands[1], r, c) : at(operands[2], r, c);
    }
}

/// `a` is rows x inner with strides; the innermost loop runs along the columns of the result.
void product(const BlockOperand& a, const BlockOperand& b, bool transposeA, bool transposeB, BlockShape shape,
             double* out) {
  const int64_t inner = transposeA ? a.shape.rows : a.shape.columns;
  std::memset(out, 0, static_cast<size_t>(shape.elements()) * sizeof(double));
  for (int64_t r = 0; r < shape.rows; ++r)
    for (int64_t k = 0; k < inner; ++k) {
      const double factor = transposeA ? a.elements[k * a.shape.columns + r] : a.elements[r * a.shape.columns + k];
      double* row = out + r * shape.columns;
      const double* from = transposeB ? b.elements + k : b.elements + k * b.shape.columns;
      const int64_t stride = transposeB ? b.shape.columns : 1;
      for (int64_t c = 0; c < shape.columns; ++c) row[c] += factor * from[c * stride];
    }
}

void foldAlong(const BlockOperand& a, FoldOp op, bool rows, double* out) {
  const int64_t results = rows ? a.shape.rows : a.shape.columns, inner = rows ? a.shape.columns : a.shape.rows;
  for (int64_t i = 0; i < results; ++i) {
    out[i] = foldIdentity(op);
    for (int64_t k = 0; k < inner; ++k)
      foldBlock(op, out + i, a.elements + (rows ? i * inner + k : k * results + i), 1);
  }
}

}  // namespace

void computeBlock(AluOp op, const std::vector<BlockOperand>& operands, BlockShape shape, double* out) {
  const BlockOperand& a = operands[0];
  switch (op) {
    case AluOp::matmul: return product(a, operands[1], false, false, shape, out);
    case AluOp::matmul_nt: return product(a, operands[1], false, true, shape, out);
    case AluOp::matmul_tn: return product(a, operands[1], true, false, shape, out);
    case AluOp::transpose:
      for (int64_t r = 0; r < shape.rows; ++r)
        for (int64_t c = 0; c < shape.columns; ++c) out[r * shape.columns + c] = a.elements[c * shape.rows + r];
      return;
    case AluOp::row_sum: return foldAlong(a, FoldOp::add, true, out);
    case AluOp::row_max: return foldAlong(a, FoldOp::max, true, out);
    case AluOp::row_min: return foldAlong(a, FoldOp::min, true, out);
    case AluOp::col_sum: return foldAlong(a, FoldOp::add, false, out);
    case AluOp::col_max: return foldAlong(a, FoldOp::max, false, out);
    case AluOp::col_min: return foldAlong(a, FoldOp::min, false, out);
    default: return elementwise(op, operands, shape, out);
  }
}

uint64_t operationsOf(AluOp op, const std::vector<BlockShape>& operands, BlockShape shape) {
  const BlockShape a = operands[0];
  if (op == AluOp::matmul || op == AluOp::matmul_nt) return static_cast<uint64_t>(shape.elements() * a.columns);
  if (op == AluOp::matmul_tn) return static_cast<uint64_t>(shape.elements() * a.rows);
  return static_cast<uint64_t>(std::max(shape.elements(), a.elements()));
}

void foldBlock(FoldOp op, double* a, const double* b, size_t elements) {
  for (size_t i = 0; i < elements; ++i) {
    switch (op) {
      case FoldOp::add: a[i] = fold<FoldOp::add>(a[i], b[i]); break;
      case FoldOp::max: a[i] = fold<FoldOp::max>(a[i], b[i]); break;
      case FoldOp::min: a[i] = fold<FoldOp::min>(a[i], b[i]); break;
      case FoldOp::mul: a[i] = fold<FoldOp::mul>(a[i], b[i]); break;
    }
  }
}

BlockTiming blockTiming(AluOp op, int64_t extent) {
  const auto n = static_cast<uint64_t>(extent);
  if (op == AluOp::matmul || op == AluOp::matmul_nt || op == AluOp::matmul_tn) return {2 * n - 1, n};
  if (arity(op) == 1) return {n, n};
  return {n * n, n * n};
}

}  // namespace tokamak::stream
