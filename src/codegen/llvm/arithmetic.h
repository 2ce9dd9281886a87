#pragma once

#include <llvm/IR/IRBuilder.h>

#include "kernel/kernel.h"

/// Scalar operations of support/scalar_op.h on LLVM values. Every function takes a scalar or a vector and gives one of
/// as many lanes. In registers bool is i1, f16 and bf16 are their bits in i16, other types are LLVM's own; signedness
/// is in the DType.
namespace tokamak::codegen {

using Builder = llvm::IRBuilderBase;

/// Type of a value in registers; in memory a bool is a byte.
llvm::Type* registerType(llvm::LLVMContext& context, kernel::ValueType type);
llvm::Type* memoryType(llvm::LLVMContext& context, kernel::ValueType type);
/// `element` with the lanes of `like`.
llvm::Type* withLanesOf(llvm::Type* like, llvm::Type* element);
int lanesOf(const llvm::Value* value);

llvm::Constant* immediate(llvm::LLVMContext& context, kernel::ValueType type, const Scalar& value);
llvm::Value* splat(Builder& b, llvm::Value* scalar, int lanes);

llvm::Value* emitUnary(Builder& b, UnaryKind kind, DType dtype, llvm::Value* a);
llvm::Value* emitBinary(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* y);

/// Which halves the processor converts by instructions of its own; the others are converted in integer arithmetic.
struct HalfInstructions {
  bool f16 = false;
  bool bf16 = false;  // AVX512-BF16
};
/// As graph::Cast. Rounding to bf16 may move the insertion point to a new block.
llvm::Value* emitConvert(Builder& b, DType from, DType to, llvm::Value* a, HalfInstructions half);

/// Natural, or all even lanes first and then all odd ones (see lane_order.h).
enum class LaneOrder : uint8_t { natural, paired };
/// bf16, in natural order always, to f32 lanes in `order`, and back.
llvm::Value* emitWidenBfloat(Builder& b, llvm::Value* bits, LaneOrder order);
llvm::Value* emitNarrowToBfloat(Builder& b, llvm::Value* f32, LaneOrder order, HalfInstructions half);

/// All lanes combined into one: lane i with lane i + n/2, then the same over n/2 lanes. The order is part of the
/// result.
llvm::Value* emitFold(Builder& b, BinaryKind kind, DType dtype, llvm::Value* a);
/// Lane i becomes the combination of lanes 0..i.
llvm::Value* emitPrefix(Builder& b, BinaryKind kind, DType dtype, llvm::Value* a);
/// base, base + 1, ...
llvm::Value* emitRamp(Builder& b, llvm::Value* base, int lanes);
/// Word `index` mod 4 of a Philox-4x32-10 block, as graph::Random defines it. All operands i64.
llvm::Value* emitPhilox(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* index);
/// The same for `lanes` indices from `base` (scalar) on. Four neighbours share a block: where base is a multiple of 4,
/// found at run time, each block is computed once. Moves the insertion point to a new block.
llvm::Value* emitPhiloxRun(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* base, int lanes);

namespace detail {
/// A number of the type of `like`; the bits of f32 lanes, and back.
llvm::Value* integer(llvm::Value* like, uint64_t value);
llvm::Value* bitsOf(Builder& b, llvm::Value* f32);
llvm::Value* asFloat(Builder& b, llvm::Value* bits);
llvm::Value* emitIntegerUnary(Builder& b, UnaryKind kind, DType dtype, llvm::Value* a);
llvm::Value* emitIntegerBinary(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* y);
llvm::Value* emitFloatUnary(Builder& b, UnaryKind kind, llvm::Value* a);
llvm::Value* emitFloatBinary(Builder& b, BinaryKind kind, llvm::Value* x, llvm::Value* y);
/// Integer base to the power of an integer, by repeated squaring in a loop of its own: moves the insertion point to a
/// new block.
llvm::Value* emitIntegerPower(Builder& b, DType dtype, llvm::Value* base, llvm::Value* exponent);
}  // namespace detail

}  // namespace tokamak::codegen
