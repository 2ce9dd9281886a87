#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen::detail {

namespace {

llvm::Value* constant(llvm::Value* like, int64_t value) { return llvm::ConstantInt::getSigned(like->getType(), value); }

/// A divisor that cannot trap: 1 in place of 0, and of -1 under the least integer. By it the quotient of the least
/// integer wraps and both remainders are 0, as they should be; only x / 0 is left for the caller to make 0.
llvm::Value* safeDivisor(Builder& b, DType dtype, llvm::Value* x, llvm::Value* y) {
  llvm::Value* unsafe = b.CreateICmpEQ(y, constant(y, 0));
  if (isSigned(dtype)) {
    auto least = llvm::APInt::getSignedMinValue(x->getType()->getScalarSizeInBits());
    llvm::Value* overflows =
        b.CreateAnd(b.CreateICmpEQ(x, llvm::ConstantInt::get(x->getType(), least)), b.CreateICmpEQ(y, constant(y, -1)));
    unsafe = b.CreateOr(unsafe, overflows);
  }
  return b.CreateSelect(unsafe, constant(y, 1), y);
}

llvm::Value* emitDivision(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* y) {
  llvm::Value* divisor = safeDivisor(b, dtype, x, y);
  const bool wantsQuotient = kind == BinaryKind::div || kind == BinaryKind::floordiv;
  llvm::Value* result = nullptr;
  if (!isSigned(dtype)) {
    result = wantsQuotient ? b.CreateUDiv(x, divisor) : b.CreateURem(x, divisor);
  } else if (kind == BinaryKind::div) {
    result = b.CreateSDiv(x, divisor);
  } else if (kind == BinaryKind::fmod) {
    result = b.CreateSRem(x, divisor);
  } else {
    // Toward minus infinity: where the remainder is not 0 and its sign is not the divisor's, one step back.
    llvm::Value* remainder = b.CreateSRem(x, divisor);
    llvm::Value* inexact = b.CreateICmpNE(remainder, constant(x, 0));
    llvm::Value* opposed = b.CreateICmpSLT(b.CreateXor(remainder, divisor), constant(x, 0));
    llvm::Value* adjusts = b.CreateAnd(inexact, opposed);
    if (kind == BinaryKind::rem) return b.CreateAdd(remainder, b.CreateSelect(adjusts, divisor, constant(x, 0)));
    result = b.CreateSub(b.CreateSDiv(x, divisor), b.CreateZExt(adjusts, x->getType()));
  }
  if (!wantsQuotient) return result;
  return b.CreateSelect(b.CreateICmpEQ(y, constant(y, 0)), constant(y, 0), result);
}

llvm::Value* emitShift(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* count) {
  const int width = x->getType()->getScalarSizeInBits();
  llvm::Value* inRange = b.CreateICmpULT(count, constant(count, width));  // a negative count is a huge one
  if (kind == BinaryKind::shr && isSigned(dtype))
    return b.CreateAShr(x, b.CreateSelect(inRange, count, constant(count, width - 1)));
  llvm::Value* safe = b.CreateSelect(inRange, count, constant(count, 0));
  llvm::Value* shifted = kind == BinaryKind::shl ? b.CreateShl(x, safe) : b.CreateLShr(x, safe);
  return b.CreateSelect(inRange, shifted, constant(x, 0));
}

llvm::Value* emitCompare(Builder& b, BinaryKind kind, bool isSigned, llvm::Value* x, llvm::Value* y) {
  using P = llvm::CmpInst::Predicate;
  switch (kind) {
    case BinaryKind::eq: return b.CreateICmpEQ(x, y);
    case BinaryKind::ne: return b.CreateICmpNE(x, y);
    case BinaryKind::lt: return b.CreateICmp(isSigned ? P::ICMP_SLT : P::ICMP_ULT, x, y);
    case BinaryKind::le: return b.CreateICmp(isSigned ? P::ICMP_SLE : P::ICMP_ULE, x, y);
    case BinaryKind::gt: return b.CreateICmp(isSigned ? P::ICMP_SGT : P::ICMP_UGT, x, y);
    default: return b.CreateICmp(isSigned ? P::ICMP_SGE : P::ICMP_UGE, x, y);
  }
}

/// Bool is i1: what arithmetic there is, is logic.
llvm::Value* emitBoolBinary(Builder& b, BinaryKind kind, llvm::Value* x, llvm::Value* y) {
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::max:
    case BinaryKind::bit_or: return b.CreateOr(x, y);
    case BinaryKind::mul:
    case BinaryKind::min:
    case BinaryKind::bit_and: return b.CreateAnd(x, y);
    case BinaryKind::bit_xor: return b.CreateXor(x, y);
    default: TK_CHECK(isComparison(kind), nameOf(kind)); return emitCompare(b, kind, false, x, y);
  }
}

llvm::Value* emitIntegerSign(Builder& b, DType dtype, llvm::Value* a) {
  llvm::Value* positive = b.CreateZExt(b.CreateICmpNE(a, constant(a, 0)), a->getType());
  if (!isSigned(dtype)) return positive;
  llvm::Value* negative = b.CreateAShr(a, constant(a, a->getType()->getScalarSizeInBits() - 1));
  return b.CreateOr(negative, positive);
}

}  // namespace

llvm::Value* emitIntegerUnary(Builder& b, UnaryKind kind, DType dtype, llvm::Value* a) {
  llvm::Type* boolType = withLanesOf(a->getType(), b.getInt1Ty());
  switch (kind) {
    case UnaryKind::neg: return b.CreateNeg(a);
    case UnaryKind::abs: return isSigned(dtype) ? b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b.getFalse()) : a;
    case UnaryKind::sign: return emitIntegerSign(b, dtype, a);
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc: return a;
    case UnaryKind::isnan:
    case UnaryKind::isinf: return llvm::ConstantInt::getFalse(boolType);
    case UnaryKind::isfinite: return llvm::ConstantInt::getTrue(boolType);
    case UnaryKind::logical_not: return b.CreateICmpEQ(a, constant(a, 0));
    case UnaryKind::bitnot: return b.CreateNot(a);
    default: TK_CHECK(false, nameOf(kind)); return nullptr;
  }
}

llvm::Value* emitIntegerBinary(Builder& b, BinaryKind kind, DType dtype, llvm::Value* x, llvm::Value* y) {
  if (dtype == DType::boolean) return emitBoolBinary(b, kind, x, y);
  const bool isSignedType = isSigned(dtype);
  switch (kind) {
    case BinaryKind::add: return b.CreateAdd(x, y);
    case BinaryKind::sub: return b.CreateSub(x, y);
    case BinaryKind::mul: return b.CreateMul(x, y);
    case BinaryKind::div:
    case BinaryKind::floordiv:
    case BinaryKind::rem:
    case BinaryKind::fmod: return emitDivision(b, kind, dtype, x, y);
    case BinaryKind::pow: return emitIntegerPower(b, dtype, x, y);
    case BinaryKind::max:
      return b.CreateBinaryIntrinsic(isSignedType ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
    case BinaryKind::min:
      return b.CreateBinaryIntrinsic(isSignedType ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
    case BinaryKind::bit_and: return b.CreateAnd(x, y);
    case BinaryKind::bit_or: return b.CreateOr(x, y);
    case BinaryKind::bit_xor: return b.CreateXor(x, y);
    case BinaryKind::shl:
    case BinaryKind::shr: return emitShift(b, kind, dtype, x, y);
    default: TK_CHECK(isComparison(kind), nameOf(kind)); return emitCompare(b, kind, isSignedType, x, y);
  }
}

llvm::Value* emitIntegerPower(Builder& b, DType dtype, llvm::Value* base, llvm::Value* exponent) {
  llvm::Type* type = base->getType();
  llvm::Value* zero = constant(base, 0);
  llvm::Value* one = constant(base, 1);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* before = b.GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "pow", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "pow.end", function);
  llvm::Value* negative = isSigned(dtype) ? b.CreateICmpSLT(exponent, zero) : nullptr;
  // A negative exponent's parity and none of its other bits: bases 1 and -1 then come out right, others are replaced by
  // 0.
  llvm::Value* start = negative ? b.CreateSelect(negative, b.CreateAnd(exponent, one), exponent) : exponent;
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  llvm::PHINode* square = b.CreatePHI(type, 2);
  llvm::PHINode* bits = b.CreatePHI(type, 2);
  llvm::PHINode* result = b.CreatePHI(type, 2);
  llvm::Value* isOdd = b.CreateICmpNE(b.CreateAnd(bits, one), zero);
  llvm::Value* product = b.CreateSelect(isOdd, b.CreateMul(result, square), result);
  llvm::Value* nextSquare = b.CreateMul(square, square);
  llvm::Value* nextBits = b.CreateLShr(bits, one);
  llvm::Value* more = b.CreateICmpNE(nextBits, zero);
  if (type->isVectorTy()) more = b.CreateOrReduce(more);
  b.CreateCondBr(more, loop, after);
  square->addIncoming(base, before);
  square->addIncoming(nextSquare, loop);
  bits->addIncoming(start, before);
  bits->addIncoming(nextBits, loop);
  result->addIncoming(one, before);
  result->addIncoming(product, loop);

  b.SetInsertPoint(after);
  if (!negative) return product;
  llvm::Value* isUnit = b.CreateOr(b.CreateICmpEQ(base, one), b.CreateICmpEQ(base, constant(base, -1)));
  return b.CreateSelect(b.CreateAnd(negative, b.CreateNot(isUnit)), zero, product);
}

}  // namespace tokamak::codegen::detail
