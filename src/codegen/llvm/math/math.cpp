#include "codegen/llvm/math/math.h"

#include "codegen/llvm/math/functions.h"
#include "codegen/llvm/math/libm.h"
#include "support/check.h"

namespace tokamak::codegen::math {
namespace {

/// Functions of doubles that are not written as vector code here.
Expr emitDoubleByLibm(UnaryKind kind, Expr x) {
  return callLibm(EnumNames<UnaryKind>::names[static_cast<size_t>(kind)], {x});
}

Expr emit(UnaryKind kind, Expr x) {
  switch (kind) {
    case UnaryKind::exp: return exp(x);
    case UnaryKind::exp2: return exp2(x);
    case UnaryKind::expm1: return expm1(x);
    case UnaryKind::log: return log(x);
    case UnaryKind::rsqrt: return rsqrt(x);
    case UnaryKind::tanh: return tanh(x);
    case UnaryKind::erf: return erf(x);
    case UnaryKind::sigmoid: return sigmoid(x);
    default: break;
  }
  if (x.isDouble()) return emitDoubleByLibm(kind, x);
  switch (kind) {
    case UnaryKind::log2: return log2(x);
    case UnaryKind::log10: return log10(x);
    case UnaryKind::log1p: return log1p(x);
    case UnaryKind::sin: return sin(x);
    case UnaryKind::cos: return cos(x);
    case UnaryKind::tan: return tan(x);
    case UnaryKind::asin: return asin(x);
    case UnaryKind::acos: return acos(x);
    case UnaryKind::atan: return atan(x);
    case UnaryKind::sinh: return sinh(x);
    case UnaryKind::cosh: return cosh(x);
    case UnaryKind::asinh: return asinh(x);
    case UnaryKind::acosh: return acosh(x);
    case UnaryKind::atanh: return atanh(x);
    case UnaryKind::erfc: return erfc(x);
    default: TK_CHECK(false, "a function that vector math serves");
  }
}

Expr emit(BinaryKind kind, Expr a, Expr b) {
  switch (kind) {
    case BinaryKind::pow: return pow(a, b);
    case BinaryKind::atan2: return a.isDouble() ? callLibm("atan2", {a, b}) : atan2(a, b);
    case BinaryKind::fmod: return fmod(a, b);
    case BinaryKind::rem: return remainder(a, b);
    default: return floorDivide(a, b);
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
