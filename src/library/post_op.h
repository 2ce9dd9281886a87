#pragma once

#include <span>

#include "library/library.h"

namespace tokamak::library {

/// Element `index` of an array of floats of any width.
float loadFloat(const void* data, DType dtype, int64_t index);
void storeFloat(void* data, DType dtype, int64_t index, float value);

/// The post-op on one value; `operand` is its further operand or, for sum, the old result.
float applyPostOp(const PostOp& op, float value, float operand);

/// Whether oneDNN's code for it gives a number for NaN.
bool losesNan(PostOpKind kind);
/// The list with relu, which loses NaN too, replaced by what gives the same but keeps it; unchanged where it may be
/// lost.
std::vector<PostOp> keepNan(std::vector<PostOp> postOps, bool mayLoseNan);

/// A result of [rows, columns] blocks: `plane` elements follow each other for one column of `row`-broadcast operands (1
/// for matrix products, the spatial size for convolutions).
struct ResultBlocks {
  int64_t rows = 0, columns = 0, plane = 1;
  DType result = DType::f32, biasType = DType::f32;
  int64_t elements() const { return rows * columns * plane; }
};

/// result = postOps(bias): what a product over nothing leaves. Operands are in the order of the post-ops that have one.
void fillWithoutProduct(const ResultBlocks& shape, const void* bias, std::span<const PostOp> postOps,
                        std::span<void* const> operands, void* result);

/// Whether an array of floats holds neither infinity nor NaN.
bool allFinite(const void* data, DType dtype, int64_t elements);

/// Computes those elements of `result` that are not finite anew from `product`, what the post-ops (no sum among them)
/// were given.
void mendNonFinite(const ResultBlocks& shape, const void* product, std::span<const PostOp> postOps,
                   std::span<void* const> operands, void* result);

}  // namespace tokamak::library
