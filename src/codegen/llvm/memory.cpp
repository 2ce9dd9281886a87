#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/llvm/function_emitter.h"

namespace tokamak::codegen {

using namespace kernel;

llvm::Value* FunctionEmitter::address(BufferId buffer, llvm::Value* index) {
  llvm::Type* element = memoryType(b_.getContext(), {kernel_.buffer(buffer).dtype, 1});
  return b_.CreateGEP(element, buffers_.at(buffer), index);
}

/// Says what the access cannot overlap; reads of `in` buffers see the same bytes for the whole call.
llvm::Instruction* FunctionEmitter::annotate(llvm::Instruction* access, BufferId buffer) {
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, context_.scope[buffer.index]);
  access->setMetadata(llvm::LLVMContext::MD_noalias, context_.disjoint[buffer.index]);
  const Buffer& b = kernel_.buffer(buffer);
  if (b.scope == Scope::global && b.access == Access::in && llvm::isa<llvm::LoadInst>(access))
    access->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
  return access;
}

llvm::Value* FunctionEmitter::maskOrNull(ExprId mask, int lanes) {
  if (!mask) return nullptr;
  llvm::Value* bits = value(mask);
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(bits); constant && constant->isAllOnesValue()) return nullptr;
  // A scalar access with a mask is a masked access of one lane, which LLVM turns into a branch.
  return lanes == 1 ? b_.CreateVectorSplat(1, bits) : splat(b_, bits, lanes);
}

llvm::Value* FunctionEmitter::forAllLanes(ExprId mask) {
  if (!mask) return nullptr;
  if (const auto* e = std::get_if<Splat>(&kernel_.expr(mask).node)) return value(e->a);
  const auto* both = std::get_if<Bin>(&kernel_.expr(mask).node);
  if (!both || both->kind != BinaryKind::bit_and) return nullptr;
  llvm::Value *a = forAllLanes(both->a), *b = forAllLanes(both->b);
  return a && b ? b_.CreateAnd(a, b) : a ? a : b;
}

llvm::Value* FunctionEmitter::emitLoad(const Load& e, ValueType type) {
  if (kernel_.type(e.index).lanes > 1) return emitGather(e, type);
  llvm::Type* memory = memoryType(b_.getContext(), type);
  const llvm::Align align(byteWidth(type.dtype));
  llvm::Value* pointer = address(e.buffer, value(e.index));
  // A vector that is masked off whole may lie outside the buffer, on a page that was never touched. The processor finds
  // out that nothing is wrong, but it takes a microsecond over it; at the buffer's beginning it takes none.
  if (llvm::Value* wanted = type.lanes > 1 ? forAllLanes(e.mask) : nullptr)
    pointer = b_.CreateSelect(wanted, pointer, buffers_.at(e.buffer));
  llvm::Value* loaded = nullptr;
  if (llvm::Value* mask = maskOrNull(e.mask, type.lanes)) {
    llvm::Type* masked = type.lanes == 1 ? llvm::FixedVectorType::get(memory, 1) : memory;
    loaded =
        annotate(b_.CreateMaskedLoad(masked, pointer, align, mask, llvm::Constant::getNullValue(masked)), e.buffer);
    if (type.lanes == 1) loaded = b_.CreateExtractElement(loaded, uint64_t{0});
  } else {
    loaded = annotate(b_.CreateAlignedLoad(memory, pointer, align), e.buffer);
  }
  return type.dtype == DType::boolean ? b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(memory)) : loaded;
}

/// Elements of 8 and 16 bits have no gather instruction; LLVM loads them lane by lane.
llvm::Value* FunctionEmitter::emitGather(const Load& e, ValueType type) {
  llvm::Type* memory = memoryType(b_.getContext(), type);
  llvm::Value* mask = maskOrNull(e.mask, type.lanes);
  if (!mask) mask = llvm::ConstantInt::getTrue(withLanesOf(memory, b_.getInt1Ty()));
  llvm::Value* pointers = address(e.buffer, value(e.index));
  llvm::Value* loaded = annotate(b_.CreateMaskedGather(memory, pointers, llvm::Align(byteWidth(type.dtype)), mask,
                                                       llvm::Constant::getNullValue(memory)),
                                 e.buffer);
  return type.dtype == DType::boolean ? b_.CreateICmpNE(loaded, llvm::Constant::getNullValue(memory)) : loaded;
}

void FunctionEmitter::emit(const Store& s) {
  const ValueType type = kernel_.type(s.value);
  llvm::Value* stored = value(s.value);
  if (type.dtype == DType::boolean) stored = b_.CreateZExt(stored, memoryType(b_.getContext(), type));
  llvm::Value* index = value(s.index);
  const llvm::Align align(byteWidth(type.dtype));
  if (kernel_.type(s.index).lanes > 1) {
    emitScatter(s, index, stored);
  } else if (llvm::Value* mask = maskOrNull(s.mask, type.lanes)) {
    llvm::Value* pointer = address(s.buffer, index);
    if (type.lanes == 1) stored = b_.CreateVectorSplat(1, stored);
    annotate(b_.CreateMaskedStore(stored, pointer, align, mask), s.buffer);
  } else if (s.streaming && type.lanes > 1) {
    emitStreamingStore(s.buffer, address(s.buffer, index), stored);
  } else {
    annotate(b_.CreateAlignedStore(stored, address(s.buffer, index), align), s.buffer);
  }
  changed();
}

void FunctionEmitter::emitScatter(const Store& s, llvm::Value* index, llvm::Value* stored) {
  const int lanes = kernel_.type(s.index).lanes;
  stored = splat(b_, stored, lanes);
  llvm::Value* mask = maskOrNull(s.mask, lanes);
  if (!mask) mask = llvm::ConstantInt::getTrue(withLanesOf(index->getType(), b_.getInt1Ty()));
  const llvm::Align align(byteWidth(kernel_.type(s.value).dtype));
  annotate(b_.CreateMaskedScatter(stored, address(s.buffer, index), align, mask), s.buffer);
}

/// Non-temporal stores exist for whole aligned registers only, and nothing promises that a buffer or a row starts on
/// such a boundary. Each store asks, by a test and a branch that goes the same way all along a row; beside a cache
/// line's way to memory they cost nothing. Such stores are weakly ordered: `finish` puts a fence at the function's end,
/// before the host learns that the piece is done.
void FunctionEmitter::emitStreamingStore(BufferId buffer, llvm::Value* pointer, llvm::Value* stored) {
  const uint64_t bytes = context_.module.getDataLayout().getTypeStoreSize(stored->getType());
  const uint64_t line = std::min<uint64_t>(bytes, context_.target.vectorBytes);
  const llvm::Align natural(byteWidth(kernel_.buffer(buffer).dtype));
  const bool hasInstruction =
      llvm::Triple(context_.module.getTargetTriple()).isX86() && line >= 16 && bytes % line == 0;
  if (!hasInstruction) {
    annotate(b_.CreateAlignedStore(stored, pointer, natural), buffer);
    return;
  }
  streams_ = true;
  llvm::BasicBlock* aligned = newBlock("stream");
  llvm::BasicBlock* unaligned = newBlock("stream.unaligned");
  llvm::BasicBlock* after = newBlock("stream.end");
  llvm::Value* offset = b_.CreateAnd(b_.CreatePtrToInt(pointer, b_.getInt64Ty()), b_.getInt64(line - 1));
  b_.CreateCondBr(b_.CreateICmpEQ(offset, b_.getInt64(0)), aligned, unaligned,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1000, 1));
  b_.SetInsertPoint(aligned);
  auto* store = annotate(b_.CreateAlignedStore(stored, pointer, llvm::Align(line)), buffer);
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1))));
  b_.CreateBr(after);
  b_.SetInsertPoint(unaligned);
  annotate(b_.CreateAlignedStore(stored, pointer, natural), buffer);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

llvm::AllocaInst* FunctionEmitter::allocate(llvm::Type* type, const std::string& name, int align) {
  llvm::IRBuilder<> entry(entry_, entry_->begin());
  llvm::AllocaInst* slot = entry.CreateAlloca(type, nullptr, name);
  if (align) slot->setAlignment(llvm::Align(align));
  return slot;
}

void FunctionEmitter::finish() {
  if (streams_) b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::x86_sse_sfence, {});
  b_.CreateRetVoid();
}

}  // namespace tokamak::codegen
