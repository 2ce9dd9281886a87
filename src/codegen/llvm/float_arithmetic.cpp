#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/arithmetic.h"
#include "codegen/llvm/math/math.h"

namespace tokamak::codegen::detail {

namespace {

llvm::Value* constant(llvm::Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

llvm::Value* absolute(Builder& b, llvm::Value* a) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a); }

/// The larger (or smaller) operand, NaN if either is one; which zero wins is left open (`nsz`), as ordering them costs
/// as much again. x86's maxps gives its second operand when either is NaN, so that only a NaN in the first is left to
/// mend: one comparison and one blend. Operands are swapped to make that y: in `acc = max(acc, v)` the comparison then
/// stays out of the chain from acc to acc.
llvm::Value* emitExtreme(Builder& b, llvm::Intrinsic::ID kind, llvm::Value* x, llvm::Value* y) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  b.setFastMathFlags(flags);
  return b.CreateBinaryIntrinsic(kind, y, x);
}

llvm::Value* emitSign(Builder& b, llvm::Value* a) {
  llvm::Value* zero = constant(a, 0.0);
  llvm::Value* one = b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, constant(a, 1.0), a);
  return b.CreateSelect(b.CreateFCmpONE(a, zero), one, zero);  // of NaN: 0
}

}  // namespace

llvm::Value* emitFloatUnary(Builder& b, UnaryKind kind, llvm::Value* a) {
  if (llvm::Value* value = math::emitMath(b, kind, a)) return value;
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(a->getType());
  switch (kind) {
    case UnaryKind::neg: return b.CreateFNeg(a);
    case UnaryKind::abs: return absolute(b, a);
    case UnaryKind::sign: return emitSign(b, a);
    case UnaryKind::sqrt: return b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case UnaryKind::reciprocal: return b.CreateFDiv(constant(a, 1.0), a);
    case UnaryKind::floor: return b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
    case UnaryKind::ceil: return b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
    case UnaryKind::round: return b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a);
    case UnaryKind::trunc: return b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
    case UnaryKind::isnan: return b.CreateFCmpUNO(a, a);
    case UnaryKind::isinf: return b.CreateFCmpOEQ(absolute(b, a), infinity);
    case UnaryKind::isfinite: return b.CreateFCmpONE(absolute(b, a), infinity);
    case UnaryKind::logical_not: return b.CreateFCmpOEQ(a, constant(a, 0.0));
    default: TK_CHECK(false, nameOf(kind)); return nullptr;
  }
}

llvm::Value* emitFloatBinary(Builder& b, BinaryKind kind, llvm::Value* x, llvm::Value* y) {
  if (llvm::Value* value = math::emitMath(b, kind, x, y)) return value;
  switch (kind) {
    case BinaryKind::add: return b.CreateFAdd(x, y);
    case BinaryKind::sub: return b.CreateFSub(x, y);
    case BinaryKind::mul: return b.CreateFMul(x, y);
    case BinaryKind::div: return b.CreateFDiv(x, y);
    case BinaryKind::max: return emitExtreme(b, llvm::Intrinsic::maximum, x, y);
    case BinaryKind::min: return emitExtreme(b, llvm::Intrinsic::minimum, x, y);
    case BinaryKind::eq: return b.CreateFCmpOEQ(x, y);
    case BinaryKind::ne: return b.CreateFCmpUNE(x, y);
    case BinaryKind::lt: return b.CreateFCmpOLT(x, y);
    case BinaryKind::le: return b.CreateFCmpOLE(x, y);
    case BinaryKind::gt: return b.CreateFCmpOGT(x, y);
    case BinaryKind::ge: return b.CreateFCmpOGE(x, y);
    default: TK_CHECK(false, nameOf(kind)); return nullptr;
  }
}

}  // namespace tokamak::codegen::detail
