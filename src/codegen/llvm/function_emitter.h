#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "codegen/llvm/arithmetic.h"
#include "codegen/llvm/host_target.h"
#include "codegen/llvm/uses.h"
#include "kernel/kernel.h"

namespace tokamak::codegen {

/// What the functions of one kernel's module share.
struct KernelContext {
  KernelContext(const kernel::Kernel& kernel, const HostTarget& target, llvm::Module& module);

  const kernel::Kernel& kernel;
  const HostTarget& target;
  llvm::Module& module;
  HalfInstructions half;
  std::vector<bool> changing;  // by expression: see changingExpressions
  std::vector<bool> paired;    // by expression: see lane_order.h
  // By buffer, metadata for its loads and stores: the scope it is, and the scopes it cannot overlap.
  std::vector<llvm::MDNode*> scope, disjoint;
  int parallelLoops = 0;  // so far, to number their functions

  /// A function with the attributes that every function of a kernel has; its entry block holds only allocations.
  llvm::Function* makeFunction(llvm::FunctionType* type, const std::string& name, bool exported);
};

/// Translates statements into the body of one LLVM function. The kernel's own function runs what is outside parallel
/// loops; each parallel loop's body is a function of its own, called back by the host, which finds what it needs in an
/// environment.
///
/// Mutable variables are allocas, promoted later by SROA. An expression is emitted once a scope: its value is
/// remembered until the scope ends or, if it reads something that changes, until the next statement that may change
/// anything.
class FunctionEmitter {
 public:
  FunctionEmitter(KernelContext& context, llvm::Function* function);

  /// Buffers, symbols and variables that statements will mention must be bound first.
  void bindBuffer(kernel::BufferId id, llvm::Value* pointer) { buffers_[id] = pointer; }
  void bindSymbol(const std::string& name, llvm::Value* value) { symbols_[name] = value; }
  void bindVariable(kernel::VarId id, llvm::Value* value) { values_[id] = value; }
  void setHost(llvm::Value* host) { host_ = host; }
  /// Makes memory for local buffers: small ones on the stack, the others one after another in `scratch`.
  void bindLocals(const std::set<kernel::BufferId>& buffers, llvm::Value* scratch);

  void emitBlock(const kernel::Block& block);
  /// Runs `block` as the only iteration of a parallel loop, which gives it scratch memory.
  void emitAsOneIteration(const kernel::Block& block);
  void finish();  // ends the function

  /// Whether a local buffer goes on the stack.
  static bool isSmall(const kernel::Buffer& buffer);

 private:
  struct Remembered {
    llvm::Value* value = nullptr;
    int epoch = 0;
  };

  // Statements
  void emit(const kernel::For& s);
  void emit(const kernel::Let& s);
  void emit(const kernel::Declare& s);
  void emit(const kernel::Assign& s);
  void emit(const kernel::Store& s);
  void emit(const kernel::If& s);
  void emit(const kernel::Prefetch& s);
  void emit(const kernel::Barrier& s);
  void emitLoop(kernel::VarId var, llvm::Value* begin, llvm::Value* end, int64_t step, const kernel::Block& body);
  void emitUnrolled(const kernel::For& s, int64_t begin, int64_t end);
  void emitParallel(const kernel::For& s);
  /// Calls host->parallelFor with a new function over what `uses` names; `fill` writes its statements given the first
  /// and the last iteration (i64). `extra` values are handed through.
  using Fill = std::function<void(FunctionEmitter& inner, llvm::Value* begin, llvm::Value* end,
                                  const std::vector<llvm::Value*>& extra)>;
  void outline(const Uses& uses, llvm::Value* count, int64_t grain, const std::vector<llvm::Value*>& extra,
               const Fill& fill);
  llvm::Value* scratchBytes(const std::set<kernel::BufferId>& buffers);
  llvm::Value* paddedBytes(const kernel::Buffer& buffer);

  // Expressions
  llvm::Value* value(kernel::ExprId id);
  llvm::Value* known(kernel::ExprId id) const;
  llvm::Value* emitNode(kernel::ExprId id);
  llvm::Value* emitConversion(kernel::ExprId id, const kernel::Convert& e);
  llvm::Value* emitLoad(const kernel::Load& e, kernel::ValueType type);
  llvm::Value* emitGather(const kernel::Load& e, kernel::ValueType type);
  llvm::Value* emitDim(const Dim& dim);
  llvm::Value* emitAtom(const Dim::Atom& atom);
  void withScope(const std::function<void()>& body);
  void changed() { ++epoch_; }

  // Memory
  llvm::Value* address(kernel::BufferId buffer, llvm::Value* index);
  llvm::Instruction* annotate(llvm::Instruction* access, kernel::BufferId buffer);
  void emitScatter(const kernel::Store& s, llvm::Value* index, llvm::Value* value);
  void emitStreamingStore(kernel::BufferId buffer, llvm::Value* pointer, llvm::Value* value);
  llvm::Value* maskOrNull(kernel::ExprId mask, int lanes);  // null: all lanes
  llvm::Value* forAllLanes(kernel::ExprId mask);  // what a mask asks of all lanes alike, as one bool; null: nothing
  llvm::AllocaInst* allocate(llvm::Type* type, const std::string& name, int align = 0);
  llvm::BasicBlock* newBlock(const char* name);

  KernelContext& context_;
  const kernel::Kernel& kernel_;
  llvm::Function* function_;
  llvm::BasicBlock* entry_;
  llvm::IRBuilder<> b_;
  llvm::Value* host_ = nullptr;  // null inside a parallel loop
  std::map<kernel::BufferId, llvm::Value*> buffers_;
  std::map<std::string, llvm::Value*, std::less<>> symbols_;
  std::map<kernel::VarId, llvm::Value*> values_;             // immutable ones
  std::map<kernel::VarId, llvm::AllocaInst*> slots_;         // mutable ones
  std::vector<Remembered> memo_;                             // by expression
  std::vector<std::pair<kernel::ExprId, Remembered>> undo_;  // what open scopes have put over
  int epoch_ = 1;
  bool streams_ = false;  // has non-temporal stores
};

}  // namespace tokamak::codegen
