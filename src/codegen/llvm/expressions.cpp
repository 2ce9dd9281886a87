#include "codegen/llvm/function_emitter.h"

namespace tokamak::codegen {

using namespace kernel;

void FunctionEmitter::withScope(const std::function<void()>& body) {
  const size_t mark = undo_.size();
  changed();
  body();
  changed();
  for (; undo_.size() > mark; undo_.pop_back()) memo_[undo_.back().first.index] = undo_.back().second;
}

llvm::Value* FunctionEmitter::known(ExprId id) const {
  const Remembered& remembered = memo_[id.index];
  const bool fresh = remembered.value && (!context_.changing[id.index] || remembered.epoch == epoch_);
  return fresh ? remembered.value : nullptr;
}

llvm::Value* FunctionEmitter::value(ExprId root) {
  // Operands first, without recursion: a chain of fused operations may be thousands deep.
  std::vector<ExprId> pending{root};
  while (!pending.empty()) {
    const ExprId id = pending.back();
    if (known(id)) {
      pending.pop_back();
      continue;
    }
    const size_t size = pending.size();
    const std::vector<ExprId> operands = operandsOf(kernel_.expr(id));
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
      if (!known(*operand)) pending.push_back(*operand);
    if (pending.size() > size) continue;
    undo_.emplace_back(id, memo_[id.index]);
    memo_[id.index] = {emitNode(id), epoch_};
    pending.pop_back();
  }
  return known(root);
}

/// Conversions between bf16 and f32 are where the order of lanes changes; all others keep it.
llvm::Value* FunctionEmitter::emitConversion(ExprId id, const Convert& e) {
  const DType from = kernel_.type(e.a).dtype, to = kernel_.type(id).dtype;
  if (from == DType::bf16 && context_.paired[id.index]) return emitWidenBfloat(b_, known(e.a), LaneOrder::paired);
  if (to == DType::bf16 && context_.paired[e.a.index])
    return emitNarrowToBfloat(b_, known(e.a), LaneOrder::paired, context_.half);
  return emitConvert(b_, from, to, known(e.a), context_.half);
}

llvm::Value* FunctionEmitter::emitNode(ExprId id) {
  const Expr& expr = kernel_.expr(id);
  const ValueType type = expr.type;
  struct Emit {
    FunctionEmitter& self;
    ExprId id;
    ValueType type;
    Builder& b;
    llvm::Value* get(ExprId id) const { return self.known(id); }
    DType dtypeOf(ExprId id) const { return self.kernel_.type(id).dtype; }

    llvm::Value* operator()(const Imm& e) const { return immediate(b.getContext(), type, e.value); }
    llvm::Value* operator()(const Symbol& e) const { return self.symbols_.find(e.name)->second; }
    llvm::Value* operator()(const Var& e) const {
      if (auto slot = self.slots_.find(e.var); slot != self.slots_.end())
        return b.CreateLoad(slot->second->getAllocatedType(), slot->second);
      auto value = self.values_.find(e.var);
      TK_CHECK(value != self.values_.end(), self.kernel_.variable(e.var).name);
      return value->second;
    }
    llvm::Value* operator()(const Un& e) const { return emitUnary(b, e.kind, dtypeOf(e.a), get(e.a)); }
    llvm::Value* operator()(const Bin& e) const { return emitBinary(b, e.kind, dtypeOf(e.a), get(e.a), get(e.b)); }
    llvm::Value* operator()(const Sel& e) const { return b.CreateSelect(get(e.condition), get(e.a), get(e.b)); }
    llvm::Value* operator()(const Convert& e) const { return self.emitConversion(id, e); }
    llvm::Value* operator()(const Load& e) const { return self.emitLoad(e, type); }
    llvm::Value* operator()(const Splat& e) const { return splat(b, get(e.a), type.lanes); }
    llvm::Value* operator()(const Ramp& e) const { return emitRamp(b, get(e.base), type.lanes); }
    llvm::Value* operator()(const Fold& e) const { return emitFold(b, e.kind, dtypeOf(e.a), get(e.a)); }
    llvm::Value* operator()(const Prefix& e) const { return emitPrefix(b, e.kind, dtypeOf(e.a), get(e.a)); }
    llvm::Value* operator()(const WarpFold&) const { return refused(); }
    llvm::Value* operator()(const WarpPrefix&) const { return refused(); }
    llvm::Value* operator()(const WarpShift&) const { return refused(); }
    static llvm::Value* refused() {
      TK_CHECK(false, "kernels with thread loops are refused before emission");
      return nullptr;
    }
    llvm::Value* operator()(const Extract& e) const {
      llvm::Value* a = get(e.a);
      return a->getType()->isVectorTy() ? b.CreateExtractElement(a, e.lane) : a;
    }
    llvm::Value* operator()(const Philox& e) const {
      llvm::Value* seed = get(e.seed);
      llvm::Value* offset = get(e.offset);
      const auto* run = std::get_if<Ramp>(&self.kernel_.expr(e.index).node);
      if (run && type.lanes > 1) return emitPhiloxRun(b, seed, offset, self.value(run->base), type.lanes);
      return emitPhilox(b, seed, offset, get(e.index));
    }
    /// Nothing stops here: memory is read where there is some.
    llvm::Value* operator()(const Within& e) const {
      llvm::Value* last = splat(b, b.CreateSub(get(e.extent), b.getInt64(1)), type.lanes);
      llvm::Value* least = emitBinary(b, BinaryKind::min, DType::i64, get(e.a), last);
      return emitBinary(b, BinaryKind::max, DType::i64, least, splat(b, b.getInt64(0), type.lanes));
    }
  };
  return std::visit(Emit{*this, id, type, b_}, expr.node);
}

llvm::Value* FunctionEmitter::emitAtom(const Dim::Atom& atom) {
  if (atom.kind == Dim::AtomKind::symbol) return symbols_.find(atom.name)->second;
  llvm::Value* x = emitDim(atom.a);
  llvm::Value* y = emitDim(atom.b);
  constexpr BinaryKind kinds[] = {BinaryKind::add, BinaryKind::floordiv, BinaryKind::rem, BinaryKind::max,
                                  BinaryKind::min};
  return emitBinary(b_, kinds[static_cast<int>(atom.kind)], DType::i64, x, y);
}

llvm::Value* FunctionEmitter::emitDim(const Dim& dim) {
  if (auto constant = dim.constant()) return b_.getInt64(*constant);
  llvm::Value* sum = b_.getInt64(0);
  for (const Dim::Term& term : dim.terms()) {
    llvm::Value* product = b_.getInt64(term.coefficient);
    for (const Dim::Atom& atom : term.factors) product = b_.CreateMul(product, emitAtom(atom));
    sum = b_.CreateAdd(sum, product);
  }
  return sum;
}

}  // namespace tokamak::codegen
