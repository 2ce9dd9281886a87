#include "codegen/llvm/math/math.h"

#include "codegen/llvm/math/libm.h"

namespace tokamak::codegen::math {
namespace {

Expr emit(UnaryKind kind, Expr x) {
  switch (kind) {
    case UnaryKind::rsqrt: return 1.0 / sqrt(x);
    case UnaryKind::sigmoid: return 1.0 / (1.0 + callLibm("exp", {-x}));
    default: return callLibm(EnumNames<UnaryKind>::names[static_cast<size_t>(kind)], {x});
  }
}

/// torch.remainder from C's fmod: moved by one divisor where the signs differ.
Expr floorRemainder(Expr mod, Expr b) {
  Expr differ = (mod != 0.0) & ((b < 0.0) ^ (mod < 0.0));
  return select(differ, mod + b, mod);
}

Expr floorDivide(Expr mod, Expr a, Expr b) {
  Expr differ = (mod != 0.0) & ((b < 0.0) ^ (mod < 0.0));
  Expr quotient = (a - mod) / b;
  quotient = select(differ, quotient - 1.0, quotient);
  Expr below = floor(quotient);
  Expr nearest = select(quotient - below > 0.5, below + 1.0, below);
  nearest = select(quotient == 0.0, copySign(quotient.constant(0.0), a / b), nearest);
  return select(b == 0.0, a / b, nearest);
}

Expr emit(BinaryKind kind, Expr a, Expr b) {
  switch (kind) {
    case BinaryKind::pow: return callLibm("pow", {a, b});
    case BinaryKind::atan2: return callLibm("atan2", {a, b});
    case BinaryKind::fmod: return callLibm("fmod", {a, b});
    case BinaryKind::rem: return floorRemainder(callLibm("fmod", {a, b}), b);
    default: return floorDivide(callLibm("fmod", {a, b}), a, b);
  }
}

}  // namespace

llvm::Value* emitMath(llvm::IRBuilderBase& builder, UnaryKind kind, llvm::Value* x) {
  bool served = isFloatOnly(kind) && kind != UnaryKind::sqrt && kind != UnaryKind::reciprocal;
  if (!served) return nullptr;
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  return emit(kind, Expr(builder, x)).value();
}

llvm::Value* emitMath(llvm::IRBuilderBase& builder, BinaryKind kind, llvm::Value* a, llvm::Value* b) {
  bool served = kind == BinaryKind::pow || kind == BinaryKind::atan2 || kind == BinaryKind::fmod ||
                kind == BinaryKind::rem || kind == BinaryKind::floordiv;
  if (!served) return nullptr;
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  return emit(kind, Expr(builder, a), Expr(builder, b)).value();
}

}  // namespace tokamak::codegen::math
