#include <numeric>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen {

namespace {

/// e with kind(e, x) = x for every x.
llvm::Constant* identity(llvm::Type* type, BinaryKind kind, DType dtype) {
  const unsigned width = type->getScalarSizeInBits();
  switch (kind) {
    case BinaryKind::add: return isFloat(dtype) ? llvm::ConstantFP::getNegativeZero(type) : llvm::Constant::getNullValue(type);
    case BinaryKind::mul: return isFloat(dtype) ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
    case BinaryKind::bit_or: return llvm::Constant::getNullValue(type);
    case BinaryKind::bit_and: return llvm::Constant::getAllOnesValue(type);
    case BinaryKind::max:
      if (isFloat(dtype)) return llvm::ConstantFP::getInfinity(type, true);
      return isSigned(dtype) ? llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(width)) : llvm::Constant::getNullValue(type);
    case BinaryKind::min:
      if (isFloat(dtype)) return llvm::ConstantFP::getInfinity(type);
      return isSigned(dtype) ? llvm::ConstantInt::get(type, llvm::APInt::getSignedMaxValue(width)) : llvm::Constant::getAllOnesValue(type);
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
  std::vector<llvm::Constant*> steps;
  for (int lane = 0; lane < lanes; ++lane) steps.push_back(llvm::ConstantInt::get(base->getType(), lane));
  return b.CreateAdd(splat(b, base, lanes), llvm::ConstantVector::get(steps));
}

llvm::Value* emitPhilox(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* index) {
  const int lanes = lanesOf(index);
  llvm::Type* type = index->getType();
  // Words live in 64-bit lanes with a clear upper half: a product of two is then one vpmuludq.
  auto number = [&](uint64_t value) { return llvm::ConstantInt::get(type, value); };
  auto low = [&](llvm::Value* v) { return b.CreateAnd(v, number(0xffffffff)); };
  auto high = [&](llvm::Value* v) { return b.CreateLShr(v, number(32)); };
  seed = splat(b, seed, lanes);
  offset = splat(b, offset, lanes);
  llvm::Value* block = b.CreateLShr(index, number(2));
  llvm::Value* word[4] = {low(block), high(block), low(offset), high(offset)};
  llvm::Value* key[2] = {low(seed), high(seed)};
  for (int round = 0; round < 10; ++round) {
    llvm::Value* first = b.CreateMul(word[0], number(0xD2511F53));
    llvm::Value* second = b.CreateMul(word[2], number(0xCD9E8D57));
    llvm::Value* next0 = b.CreateXor(b.CreateXor(high(second), word[1]), key[0]);
    llvm::Value* next2 = b.CreateXor(b.CreateXor(high(first), word[3]), key[1]);
    word[0] = next0;
    word[1] = low(second);
    word[2] = next2;
    word[3] = low(first);
    key[0] = low(b.CreateAdd(key[0], number(0x9E3779B9)));
    key[1] = low(b.CreateAdd(key[1], number(0xBB67AE85)));
  }
  auto bit = [&](int i) { return b.CreateICmpNE(b.CreateAnd(index, number(1u << i)), number(0)); };
  llvm::Value* isOdd = bit(0);
  return b.CreateSelect(bit(1), b.CreateSelect(isOdd, word[3], word[2]), b.CreateSelect(isOdd, word[1], word[0]));
}

}  // namespace tokamak::codegen
