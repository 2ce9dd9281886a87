#include <array>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen {

namespace {

using Words = std::array<llvm::Value*, 4>;

llvm::Constant* number(llvm::Value* like, uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }

/// The four words of each lane's block. They live in 64-bit lanes with a clear upper half: a product of two is one
/// vpmuludq.
Words emitBlocks(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* block) {
  auto low = [&](llvm::Value* v) { return b.CreateAnd(v, number(v, 0xffffffff)); };
  auto high = [&](llvm::Value* v) { return b.CreateLShr(v, number(v, 32)); };
  const int lanes = lanesOf(block);
  seed = splat(b, seed, lanes);
  offset = splat(b, offset, lanes);
  Words word = {low(block), high(block), low(offset), high(offset)};
  llvm::Value* key[2] = {low(seed), high(seed)};
  for (int round = 0; round < 10; ++round) {
    llvm::Value* first = b.CreateMul(word[0], number(block, 0xD2511F53));
    llvm::Value* second = b.CreateMul(word[2], number(block, 0xCD9E8D57));
    word = {b.CreateXor(b.CreateXor(high(second), word[1]), key[0]), low(second),
            b.CreateXor(b.CreateXor(high(first), word[3]), key[1]), low(first)};
    key[0] = low(b.CreateAdd(key[0], number(block, 0x9E3779B9)));
    key[1] = low(b.CreateAdd(key[1], number(block, 0xBB67AE85)));
  }
  return word;
}

/// w0[0], w1[0], w2[0], w3[0], w0[1], ...
llvm::Value* interleave(Builder& b, const Words& word) {
  const int blocks = lanesOf(word[0]), two = 2 * blocks, four = 4 * blocks;
  auto pairs = [&](llvm::Value* x, llvm::Value* y) {  // x then y
    std::vector<int> indices(two);
    for (int i = 0; i < two; ++i) indices[i] = i;
    return b.CreateShuffleVector(x, y, indices);
  };
  std::vector<int> indices(four);
  for (int i = 0; i < four; ++i) indices[i] = i % 4 * blocks + i / 4;
  return b.CreateShuffleVector(pairs(word[0], word[1]), pairs(word[2], word[3]), indices);
}

}  // namespace

llvm::Value* emitPhilox(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* index) {
  Words word = emitBlocks(b, seed, offset, b.CreateLShr(index, number(index, 2)));
  auto bit = [&](int i) { return b.CreateICmpNE(b.CreateAnd(index, number(index, 1u << i)), number(index, 0)); };
  llvm::Value* isOdd = bit(0);
  return b.CreateSelect(bit(1), b.CreateSelect(isOdd, word[3], word[2]), b.CreateSelect(isOdd, word[1], word[0]));
}

llvm::Value* emitPhiloxRun(Builder& b, llvm::Value* seed, llvm::Value* offset, llvm::Value* base, int lanes) {
  if (lanes % 8 != 0) return emitPhilox(b, seed, offset, emitRamp(b, base, lanes));
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* whole = llvm::BasicBlock::Create(b.getContext(), "philox.whole", function);
  auto* split = llvm::BasicBlock::Create(b.getContext(), "philox.split", function);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "philox.end", function);
  b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(base, number(base, 3)), number(base, 0)), whole, split);

  b.SetInsertPoint(whole);
  llvm::Value* blocks = emitRamp(b, b.CreateLShr(base, number(base, 2)), lanes / 4);
  llvm::Value* fast = interleave(b, emitBlocks(b, seed, offset, blocks));
  b.CreateBr(after);

  b.SetInsertPoint(split);
  llvm::Value* slow = emitPhilox(b, seed, offset, emitRamp(b, base, lanes));
  b.CreateBr(after);

  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(fast->getType(), 2);
  result->addIncoming(fast, whole);
  result->addIncoming(slow, split);
  return result;
}

}  // namespace tokamak::codegen
