#include <numeric>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen {

namespace {

/// e with kind(e, x) = x for every x.
llvm::Constant* identity(llvm::Type* type, BinaryKind kind, DType dtype) {
  const unsigned width = type->getScalarSizeInBits();
  switch (kind) {
    case BinaryKind::add:
      return isFloat(dtype) ? llvm::ConstantFP::getNegativeZero(type) : llvm::Constant::getNullValue(type);
    case BinaryKind::mul: return isFloat(dtype) ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
    case BinaryKind::bit_or: return llvm::Constant::getNullValue(type);
    case BinaryKind::bit_and: return llvm::Constant::getAllOnesValue(type);
    case BinaryKind::max:
      if (isFloat(dtype)) return llvm::ConstantFP::getInfinity(type, true);
      return isSigned(dtype) ? llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(width))
                             : llvm::Constant::getNullValue(type);
    case BinaryKind::min:
      if (isFloat(dtype)) return llvm::ConstantFP::getInfinity(type);
      return isSigned(dtype) ? llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width))
                             : llvm::Constant::getAllOnesValue(type);
    default: TK_CHECK(false, nameOf(kind)); return nullptr;
  }
}

std::vector<int> iota(int first, int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

/// Bool lanes are one bit each of a mask register, best tested as one integer.
llvm::Value* emitBoolFold(Builder& b, BinaryKind kind, llvm::Value* a) {
  const bool any = kind == BinaryKind::add || kind == BinaryKind::max || kind == BinaryKind::bit_or;
  return any ? b.CreateOrReduce(a) : b.CreateAndReduce(a);
}

}  // namespace

llvm::Value* emitFold(Builder& b, BinaryKind kind, DType dtype, llvm::Value* a) {
  int lanes = lanesOf(a);
  if (lanes == 1) return a;
  if (dtype == DType::boolean) return emitBoolFold(b, kind, a);
  while (lanes > 1 && lanes % 2 == 0) {
    lanes /= 2;
    llvm::Value* lower = b.CreateShuffleVector(a, iota(0, lanes));
    llvm::Value* upper = b.CreateShuffleVector(a, iota(lanes, lanes));
    a = emitBinary(b, kind, dtype, lower, upper);
  }
  llvm::Value* result = b.CreateExtractElement(a, uint64_t{0});
  for (int lane = 1; lane < lanes; ++lane) result = emitBinary(b, kind, dtype, result, b.CreateExtractElement(a, lane));
  return result;
}

llvm::Value* emitPrefix(Builder& b, BinaryKind kind, DType dtype, llvm::Value* a) {
  const int lanes = lanesOf(a);
  if (lanes == 1) return a;
  llvm::Constant* neutral = identity(a->getType(), kind, dtype);
  for (int distance = 1; distance < lanes; distance *= 2) {
    // Lane i takes lane i - distance; the first ones take the identity, which follows in the second operand.
    std::vector<int> indices(lanes);
    for (int lane = 0; lane < lanes; ++lane) indices[lane] = lane < distance ? lanes + lane : lane - distance;
    a = emitBinary(b, kind, dtype, b.CreateShuffleVector(a, neutral, indices), a);
  }
  return a;
}

llvm::Value* emitRamp(Builder& b, llvm::Value* base, int lanes) {
  if (lanes == 1) return base;
  std::vector<llvm::Constant*> steps(lanes);
  for (int lane = 0; lane < lanes; ++lane) steps[lane] = llvm::ConstantInt::get(base->getType(), lane);
  return b.CreateAdd(splat(b, base, lanes), llvm::ConstantVector::get(steps));
}

}  // namespace tokamak::codegen
