#pragma once

#include <span>
#include <string_view>

#include "support/scalar_op.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

/// Elementary functions as LLVM IR, inlined into the kernel that uses them.
///
///   Value* y = math::emitMath(builder, UnaryKind::tanh, x);   // x: float, double, <16 x float>, <8 x double>, ...
///
/// Each function is within 4 ulp of the exact result on every input, with C's special values (NaN, infinities, signed
/// zeros), subnormal inputs and results kept. The code carries no fast-math flags, whatever the builder's; the target
/// machine must not fuse on its own (`AllowFPOpFusion` Standard, the default) nor run with subnormals flushed.
///
/// Code for the host's AVX-512 is chosen when the enclosing function's "target-features" attribute names +avx512f,
/// +avx512vl and +avx512dq; otherwise the IR is plain and serves any target with a fused multiply-add.
///
/// A function with a rare slow case emits a branch: afterwards the builder stands in a new block, at the place where
/// the code of the old one went on. Callers ask `builder.GetInsertBlock()` again.
namespace tokamak::codegen::math {

/// Emits `kind` of x (float or double, scalar or fixed vector) at the builder's insertion point. nullptr: not served
/// here, a plain instruction that the caller emits itself (neg, sqrt, floor, isnan, ...).
llvm::Value* emitMath(llvm::IRBuilderBase& builder, UnaryKind kind, llvm::Value* x);

/// The same for pow, atan2, fmod, rem and floordiv; a and b have one type.
llvm::Value* emitMath(llvm::IRBuilderBase& builder, BinaryKind kind, llvm::Value* a, llvm::Value* b);

/// A function of the C library that emitted code may call, by the name it is declared under.
struct LibmFunction {
  std::string_view name;
  void* address;
};

/// All of them; the JIT defines each as an absolute symbol.
std::span<const LibmFunction> libmFunctions();

}  // namespace tokamak::codegen::math
