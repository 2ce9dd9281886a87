#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen {

namespace detail {

llvm::Value* integer(llvm::Value* like, uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }

llvm::Value* bitsOf(Builder& b, llvm::Value* f32) {
  return b.CreateBitCast(f32, withLanesOf(f32->getType(), b.getInt32Ty()));
}
llvm::Value* asFloat(Builder& b, llvm::Value* bits) {
  return b.CreateBitCast(bits, withLanesOf(bits->getType(), b.getFloatTy()));
}

}  // namespace detail

namespace {

using detail::asFloat, detail::bitsOf, detail::integer;

/// The exponent moves from bias 15 to bias 127 by a multiplication with 2^112, which is exact and normalises
/// subnormals.
llvm::Value* halfToFloatInIntegers(Builder& b, llvm::Value* half) {
  llvm::Value* bits = b.CreateZExt(half, withLanesOf(half->getType(), b.getInt32Ty()));
  llvm::Value* sign = b.CreateShl(b.CreateAnd(bits, integer(bits, 0x8000)), integer(bits, 16));
  llvm::Value* magnitude = b.CreateShl(b.CreateAnd(bits, integer(bits, 0x7fff)), integer(bits, 13));
  llvm::Value* scaled =
      b.CreateFMul(asFloat(b, magnitude), llvm::ConstantFP::get(withLanesOf(half->getType(), b.getFloatTy()), 0x1p112));
  llvm::Value* special = b.CreateICmpUGE(magnitude, integer(bits, 0x7c00u << 13));
  llvm::Value* finite = bitsOf(b, scaled);
  llvm::Value* result = b.CreateSelect(special, b.CreateOr(magnitude, integer(bits, 0x7f800000)), finite);
  return asFloat(b, b.CreateOr(result, sign));
}

llvm::Value* floatToHalfInIntegers(Builder& b, llvm::Value* f32) {
  llvm::Value* all = bitsOf(b, f32);
  llvm::Value* bits = b.CreateAnd(all, integer(all, 0x7fffffff));
  // Normal results: move the bias, round as roundedWords does (bfloat.cpp); what is beyond the range becomes infinity.
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, integer(bits, 13)), integer(bits, 1));
  llvm::Value* biased = b.CreateAdd(b.CreateSub(bits, integer(bits, (112u << 23) - 0xfff)), odd);
  llvm::Value* normal =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b.CreateLShr(biased, integer(bits, 13)), integer(bits, 0x7c00));
  // Subnormal results are multiples of 2^-24, the spacing of floats at 0.5: one addition rounds to them.
  llvm::Value* shifted = b.CreateFAdd(asFloat(b, bits), llvm::ConstantFP::get(f32->getType(), 0.5));
  llvm::Value* subnormal = b.CreateSub(bitsOf(b, shifted), integer(bits, 126u << 23));
  llvm::Value* result = b.CreateSelect(b.CreateICmpULT(bits, integer(bits, 113u << 23)), subnormal, normal);
  result = b.CreateSelect(b.CreateICmpUGT(bits, integer(bits, 0x7f800000)), integer(bits, 0x7e00), result);
  llvm::Value* sign = b.CreateAnd(b.CreateLShr(all, integer(all, 16)), integer(all, 0x8000));
  return b.CreateTrunc(b.CreateOr(result, sign), withLanesOf(f32->getType(), b.getInt16Ty()));
}

/// f64 to f32, rounded to odd: what was lost shows in the last bit, so that a second rounding to a half sees it and the
/// two together round once.
llvm::Value* narrowToOdd(Builder& b, llvm::Value* f64) {
  llvm::Type* f32Type = withLanesOf(f64->getType(), b.getFloatTy());
  llvm::Value* nearest = b.CreateFPTrunc(f64, f32Type);
  llvm::Value* back = b.CreateFPExt(nearest, f64->getType());
  auto magnitude = [&](llvm::Value* v) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* away = b.CreateFCmpOGT(magnitude(back), magnitude(f64));
  llvm::Value* bits = bitsOf(b, nearest);
  llvm::Value* towardZero = b.CreateSub(bits, b.CreateZExt(away, bits->getType()));
  llvm::Value* odd = b.CreateOr(towardZero, integer(bits, 1));
  return asFloat(b, b.CreateSelect(b.CreateFCmpONE(back, f64), odd, bits));
}

/// Truncates, saturates to i64 (NaN gives 0) and wraps. llvm.fptosi.sat says as much, but LLVM does it lane by lane.
llvm::Value* floatToInteger(Builder& b, DType to, llvm::Value* a) {
  llvm::Type* wide = withLanesOf(a->getType(), b.getInt64Ty());
  llvm::Value* beyond = llvm::ConstantFP::get(a->getType(), 0x1p63);
  llvm::Value* fits = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a), beyond);
  llvm::Value* safe = b.CreateSelect(fits, a, llvm::Constant::getNullValue(a->getType()));
  llvm::Value* result = b.CreateFPToSI(safe, wide);
  result = b.CreateSelect(b.CreateFCmpOGE(a, beyond), llvm::ConstantInt::get(wide, INT64_MAX), result);
  result =
      b.CreateSelect(b.CreateFCmpOLE(a, b.CreateFNeg(beyond)), llvm::ConstantInt::getSigned(wide, INT64_MIN), result);
  return b.CreateTrunc(result, withLanesOf(a->getType(), b.getIntNTy(bitWidth(to))));
}

llvm::Value* toHalf(Builder& b, DType from, DType to, llvm::Value* a, HalfInstructions instructions) {
  // 32 and 64-bit integers do not fit f32 exactly; through f64 and round-to-odd they are rounded once (i64: f64's own
  // first).
  const DType through = from == DType::i32 || from == DType::i64 || from == DType::f64 ? DType::f64 : DType::f32;
  llvm::Value* value = emitConvert(b, from, through, a, instructions);
  if (through == DType::f64) value = narrowToOdd(b, value);
  if (to == DType::bf16) return emitNarrowToBfloat(b, value, LaneOrder::natural, instructions);
  if (!instructions.f16) return floatToHalfInIntegers(b, value);
  llvm::Value* half = b.CreateFPTrunc(value, withLanesOf(a->getType(), b.getHalfTy()));
  return b.CreateBitCast(half, withLanesOf(a->getType(), b.getInt16Ty()));
}

llvm::Value* fromHalf(Builder& b, DType from, llvm::Value* a, HalfInstructions instructions) {
  if (from == DType::bf16) return emitWidenBfloat(b, a, LaneOrder::natural);
  if (!instructions.f16) return halfToFloatInIntegers(b, a);
  llvm::Value* half = b.CreateBitCast(a, withLanesOf(a->getType(), b.getHalfTy()));
  return b.CreateFPExt(half, withLanesOf(a->getType(), b.getFloatTy()));
}

}  // namespace

llvm::Value* emitConvert(Builder& b, DType from, DType to, llvm::Value* a, HalfInstructions instructions) {
  if (from == to) return a;
  llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();  // every rounding here is meant
  if (isHalf(from)) return emitConvert(b, DType::f32, to, fromHalf(b, from, a, instructions), instructions);
  if (isHalf(to)) return toHalf(b, from, to, a, instructions);
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  if (to == DType::boolean) return isFloat(from) ? b.CreateFCmpUNE(a, zero) : b.CreateICmpNE(a, zero);
  llvm::Type* type = withLanesOf(a->getType(), registerType(b.getContext(), {to, 1}));
  if (isFloat(from)) return isFloat(to) ? b.CreateFPCast(a, type) : floatToInteger(b, to, a);
  if (isFloat(to)) return isSigned(from) ? b.CreateSIToFP(a, type) : b.CreateUIToFP(a, type);
  return b.CreateIntCast(a, type, isSigned(from));
}

}  // namespace tokamak::codegen
