#include "codegen/llvm/function_emitter.h"

namespace tokamak::codegen {

using namespace kernel;

FunctionEmitter::FunctionEmitter(KernelContext& context, llvm::Function* function)
    : context_(context),
      kernel_(context.kernel),
      function_(function),
      entry_(&function->getEntryBlock()),
      b_(function->getContext()),
      memo_(context.kernel.exprCount()) {
  // Allocations go in front of `entry`, code after it, so that neither has to look for its place.
  llvm::BasicBlock* code = newBlock("code");
  llvm::BranchInst::Create(code, entry_);
  b_.SetInsertPoint(code);
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  b_.setFastMathFlags(flags);
}

llvm::BasicBlock* FunctionEmitter::newBlock(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}

void FunctionEmitter::emitBlock(const Block& block) {
  for (const Stmt& stmt : block) std::visit([&](const auto& s) { emit(s); }, stmt.node);
}

void FunctionEmitter::emit(const Let& s) { values_[s.var] = value(s.value); }

void FunctionEmitter::emit(const Declare& s) {
  llvm::AllocaInst*& slot = slots_[s.var];
  // One slot also when the declaration stands in an unrolled loop: each copy initialises it.
  if (!slot) slot = allocate(registerType(b_.getContext(), kernel_.variable(s.var).type), kernel_.variable(s.var).name);
  b_.CreateStore(value(s.value), slot);
  changed();
}

void FunctionEmitter::emit(const Assign& s) {
  auto slot = slots_.find(s.var);
  TK_CHECK(slot != slots_.end(), "assigned outside the function that declares it: " + kernel_.variable(s.var).name);
  b_.CreateStore(value(s.value), slot->second);
  changed();
}

void FunctionEmitter::emit(const If& s) {
  llvm::Value* condition = value(s.condition);
  llvm::BasicBlock* then = newBlock("then");
  llvm::BasicBlock* after = newBlock("endif");
  llvm::BasicBlock* otherwise = s.otherwise.empty() ? after : newBlock("else");
  b_.CreateCondBr(condition, then, otherwise);
  b_.SetInsertPoint(then);
  withScope([&] { emitBlock(s.then); });
  b_.CreateBr(after);
  if (otherwise != after) {
    b_.SetInsertPoint(otherwise);
    withScope([&] { emitBlock(s.otherwise); });
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

void FunctionEmitter::emit(const Prefetch& s) {
  llvm::Value* pointer = address(s.buffer, value(s.index));
  constexpr int read = 0, data = 1, firstCache = 3, secondCache = 2;
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                     {pointer, b_.getInt32(read), b_.getInt32(s.near ? firstCache : secondCache), b_.getInt32(data)});
}

void FunctionEmitter::emit(const Barrier&) { TK_CHECK(false, "barriers are refused before emission"); }

void FunctionEmitter::emit(const For& s) {
  if (s.binding == Binding::parallel && host_) return emitParallel(s);
  llvm::Value* begin = value(s.begin);
  llvm::Value* end = value(s.end);
  auto* first = llvm::dyn_cast<llvm::ConstantInt>(begin);
  auto* last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (s.binding == Binding::unroll && first && last)
    return emitUnrolled(s, first->getSExtValue(), last->getSExtValue());
  emitLoop(s.var, begin, end, s.step, s.body);
}

void FunctionEmitter::emitUnrolled(const For& s, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += s.step) {
    values_[s.var] = b_.getInt64(i);
    withScope([&] { emitBlock(s.body); });
  }
}

/// Tested at the bottom, behind one test for an empty loop: what the body computes from outside is then known to be
/// computed, and moves in front of the loop.
void FunctionEmitter::emitLoop(VarId var, llvm::Value* begin, llvm::Value* end, int64_t step, const Block& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = newBlock("loop");
  llvm::BasicBlock* after = newBlock("endloop");
  b_.CreateCondBr(b_.CreateICmpSLT(begin, end), loop, after);
  b_.SetInsertPoint(loop);
  llvm::PHINode* index = b_.CreatePHI(b_.getInt64Ty(), 2, kernel_.variable(var).name);
  index->addIncoming(begin, before);
  values_[var] = index;
  withScope([&] { emitBlock(body); });
  llvm::Value* next = b_.CreateNSWAdd(index, b_.getInt64(step));
  index->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), loop, after);
  b_.SetInsertPoint(after);
}

}  // namespace tokamak::codegen
