#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>

#include <bit>
#include <numeric>

#include "codegen/llvm/arithmetic.h"

namespace tokamak::codegen {

namespace {

using detail::asFloat, detail::bitsOf, detail::integer;

llvm::Value* lanes(Builder& b, llvm::Value* a, int first, int count) {
  if (count == lanesOf(a)) return a;
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), first);
  return b.CreateShuffleVector(a, indices);
}

llvm::Value* join(Builder& b, llvm::Value* lower, llvm::Value* upper) {
  std::vector<int> indices(lanesOf(lower) + lanesOf(upper));
  std::iota(indices.begin(), indices.end(), 0);
  return b.CreateShuffleVector(lower, upper, indices);
}

/// The upper half of each word is the bf16 it rounds to; the lower half has no meaning. Adding 0x7fff and the bit above
/// carries into the upper half exactly when round-to-nearest-even does.
llvm::Value* roundedWords(Builder& b, llvm::Value* f32) {
  llvm::Value* bits = bitsOf(b, f32);
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, integer(bits, 16)), integer(bits, 1));
  llvm::Value* rounded = b.CreateAdd(b.CreateAdd(bits, integer(bits, 0x7fff)), odd);
  llvm::Value* quietNaN = b.CreateOr(bits, integer(bits, 0x400000));
  return b.CreateSelect(b.CreateFCmpUNO(f32, f32), quietNaN, rounded);
}

llvm::Value* narrowInIntegers(Builder& b, llvm::Value* f32, LaneOrder order) {
  if (order == LaneOrder::natural) {
    llvm::Value* words = roundedWords(b, f32);
    return b.CreateTrunc(b.CreateLShr(words, integer(words, 16)), withLanesOf(f32->getType(), b.getInt16Ty()));
  }
  const int half = lanesOf(f32) / 2;
  llvm::Value* even = roundedWords(b, lanes(b, f32, 0, half));
  llvm::Value* odd = roundedWords(b, lanes(b, f32, half, half));
  llvm::Value* words = b.CreateOr(b.CreateLShr(even, integer(even, 16)), b.CreateAnd(odd, integer(odd, 0xffff0000)));
  return b.CreateBitCast(words, withLanesOf(f32->getType(), b.getInt16Ty()));
}

constexpr int kRegister = 16;  // floats

/// By AVX512-BF16's instructions, which take subnormal floats for zeros.
llvm::Value* narrowNormal(Builder& b, llvm::Value* f32, LaneOrder order) {
  const int count = lanesOf(f32);
  auto bits = [&](llvm::Value* a) { return b.CreateBitCast(a, withLanesOf(a->getType(), b.getInt16Ty())); };
  if (count == kRegister) return bits(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {f32}));
  llvm::Value* result = nullptr;
  for (int k = 0; k < count / 2; k += kRegister) {
    const bool paired = order == LaneOrder::paired;
    llvm::Value* first = lanes(b, f32, paired ? k : 2 * k, kRegister);
    llvm::Value* second = lanes(b, f32, paired ? k + count / 2 : 2 * k + kRegister, kRegister);
    llvm::Value* both = bits(b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {}, {second, first}));
    if (paired) {
      std::vector<int> indices(2 * kRegister);
      for (int i = 0; i < 2 * kRegister; ++i) indices[i] = i / 2 + i % 2 * kRegister;
      both = b.CreateShuffleVector(both, indices);
    }
    result = result ? join(b, result, both) : both;
  }
  return result;
}

/// Whether a lane is subnormal.
llvm::Value* anySubnormal(Builder& b, llvm::Value* f32) {
  constexpr int subnormal = 0x20;
  llvm::Value* any = nullptr;
  for (int k = 0; k < lanesOf(f32); k += kRegister) {
    llvm::Value* here = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512, {},
                                          {lanes(b, f32, k, kRegister), b.getInt32(subnormal)});
    any = any ? b.CreateOr(any, here) : here;
  }
  return b.CreateICmpNE(b.CreateBitCast(any, b.getInt16Ty()), b.getInt16(0));
}

}  // namespace

llvm::Value* emitWidenBfloat(Builder& b, llvm::Value* bits, LaneOrder order) {
  if (order == LaneOrder::natural) {
    llvm::Value* wide = b.CreateZExt(bits, withLanesOf(bits->getType(), b.getInt32Ty()));
    return asFloat(b, b.CreateShl(wide, integer(wide, 16)));
  }
  llvm::Value* words = b.CreateBitCast(bits, llvm::FixedVectorType::get(b.getInt32Ty(), lanesOf(bits) / 2));
  llvm::Value* even = b.CreateShl(words, integer(words, 16));
  llvm::Value* odd = b.CreateAnd(words, integer(words, 0xffff0000));
  return asFloat(b, join(b, even, odd));
}

llvm::Value* emitNarrowToBfloat(Builder& b, llvm::Value* f32, LaneOrder order, HalfInstructions half) {
  const int count = lanesOf(f32);
  if (!half.bf16 || count < kRegister || !std::has_single_bit(static_cast<unsigned>(count)))
    return narrowInIntegers(b, f32, order);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); };
  llvm::BasicBlock* normal = block("narrow");
  llvm::BasicBlock* subnormal = block("narrow.subnormal");
  llvm::BasicBlock* after = block("narrow.end");
  b.CreateCondBr(anySubnormal(b, f32), subnormal, normal, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 1000));
  b.SetInsertPoint(normal);
  llvm::Value* quick = narrowNormal(b, f32, order);
  b.CreateBr(after);
  b.SetInsertPoint(subnormal);
  llvm::Value* exact = narrowInIntegers(b, f32, order);
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(quick->getType(), 2);
  result->addIncoming(quick, normal);
  result->addIncoming(exact, subnormal);
  return result;
}

}  // namespace tokamak::codegen
