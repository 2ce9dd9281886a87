#include "codegen/llvm/uses.h"

#include "kernel/operands.h"

namespace tokamak::codegen {

using namespace kernel;

namespace {

class Collector {
 public:
  Collector(const Kernel& kernel, bool insideParallel)
      : kernel_(kernel), seen_(kernel.exprCount(), false), insideParallel_(insideParallel) {}

  void visit(const Block& block) {
    for (const Stmt& stmt : block) std::visit([&](const auto& s) { statement(s); }, stmt.node);
  }

  Uses uses;

 private:
  void statement(const For& s) {
    expression(s.begin);
    expression(s.end);
    if (insideParallel_ || s.binding != Binding::parallel) visit(s.body);
  }
  void statement(const Let& s) { expression(s.value); }
  void statement(const Declare& s) { expression(s.value); }
  void statement(const Assign& s) {
    uses.variables.insert(s.var);
    expression(s.value);
  }
  void statement(const Store& s) {
    buffer(s.buffer);
    expression(s.index);
    expression(s.value);
    expression(s.mask);
  }
  void statement(const Prefetch& s) {
    buffer(s.buffer);
    expression(s.index);
  }
  void statement(const If& s) {
    expression(s.condition);
    visit(s.then);
    visit(s.otherwise);
  }
  void statement(const Barrier&) {}

  void buffer(BufferId id) {
    if (uses.buffers.insert(id).second && kernel_.buffer(id).scope == Scope::local)
      kernel_.buffer(id).size.collectSymbols(uses.symbols);
  }

  void expression(ExprId root) {
    std::vector<ExprId> pending{root};
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      if (!id || seen_[id.index]) continue;
      seen_[id.index] = true;
      const Expr& expr = kernel_.expr(id);
      if (auto* symbol = std::get_if<Symbol>(&expr.node)) uses.symbols.insert(symbol->name);
      if (auto* var = std::get_if<Var>(&expr.node)) uses.variables.insert(var->var);
      if (auto* load = std::get_if<Load>(&expr.node)) buffer(load->buffer);
      for (ExprId operand : operandsOf(expr)) pending.push_back(operand);
    }
  }

  const Kernel& kernel_;
  std::vector<bool> seen_;
  bool insideParallel_;
};

}  // namespace

std::vector<ExprId> operandsOf(const Expr& expr) {
  std::vector<ExprId> out;
  forEachOperand(expr.node, [&](ExprId operand) { out.push_back(operand); });
  return out;
}

Uses usesOf(const Kernel& kernel, const Block& block, bool insideParallel) {
  Collector collector(kernel, insideParallel);
  collector.visit(block);
  return std::move(collector.uses);
}

bool hasParallelLoop(const Block& block) {
  for (const Stmt& stmt : block) {
    if (auto* loop = std::get_if<For>(&stmt.node))
      if (loop->binding == Binding::parallel || hasParallelLoop(loop->body)) return true;
    if (auto* branch = std::get_if<If>(&stmt.node))
      if (hasParallelLoop(branch->then) || hasParallelLoop(branch->otherwise)) return true;
  }
  return false;
}

std::vector<bool> changingExpressions(const Kernel& kernel) {
  std::vector<bool> changing(kernel.exprCount(), false);
  for (size_t i = 0; i < kernel.exprCount(); ++i) {  // operands come before what is made of them
    const Expr& expr = kernel.expr(ExprId(i));
    if (auto* var = std::get_if<Var>(&expr.node)) changing[i] = kernel.variable(var->var).isMutable;
    if (auto* load = std::get_if<Load>(&expr.node)) {
      const Buffer& buffer = kernel.buffer(load->buffer);
      changing[i] = buffer.scope != Scope::global || buffer.access != Access::in;
    }
    for (ExprId operand : operandsOf(expr)) changing[i] = changing[i] || changing[operand.index];
  }
  return changing;
}

}  // namespace tokamak::codegen
