#include "codegen/llvm/lane_order.h"

#include <numeric>

#include "kernel/operands.h"

namespace tokamak::codegen {

using namespace kernel;

namespace {

/// Joins what must have one order: expressions and, after them, variables.
class Orders {
 public:
  Orders(const Kernel& kernel, int leastLanes)
      : kernel_(kernel),
        leastLanes_(leastLanes),
        seen_(kernel.exprCount(), false),
        parent_(kernel.exprCount() + kernel.variables.size()),
        natural_(parent_.size(), false),
        widens_(parent_.size(), false) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }

  void visit(const Block& block) {
    for (const Stmt& stmt : block) {
      forEachExpr(stmt, [&](ExprId e) { expression(e); });
      std::visit(Overload{[&](const For& s) { visit(s.body); }, [&](const If& s) { visit(s.then), visit(s.otherwise); },
                          [&](const Let& s) { join(s.value, variable(s.var)); },
                          [&](const Declare& s) { join(s.value, variable(s.var)); },
                          [&](const Assign& s) { join(s.value, variable(s.var)); },
                          [&](const Store& s) {
                            inOrder(s.value), inOrder(s.index);
                            if (s.mask) inOrder(s.mask);
                          },
                          [](const Prefetch&) {}, [](const Barrier&) {}},
                 stmt.node);
    }
  }

  std::vector<bool> paired() {
    std::vector<bool> out(kernel_.exprCount());
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = seen_[i] && kernel_.type(ExprId(i)).lanes >= leastLanes_ && widens_[find(i)] && !natural_[find(i)];
    return out;
  }

 private:
  void expression(ExprId root) {
    std::vector<ExprId> pending{root};
    while (!pending.empty()) {
      const ExprId id = pending.back();
      pending.pop_back();
      if (seen_[id.index]) continue;
      seen_[id.index] = true;
      constrain(id, kernel_.expr(id));
      forEachOperand(kernel_.expr(id).node, [&](ExprId operand) { pending.push_back(operand); });
    }
  }

  void constrain(ExprId id, const Expr& expr) {
    auto elementwise = [&] { forEachOperand(expr.node, [&](ExprId operand) { join(operand, id.index); }); };
    auto ordered = [&] {
      inOrder(id);
      forEachOperand(expr.node, [&](ExprId operand) { inOrder(operand); });
    };
    std::visit(Overload{[&](const Var& e) { join(id, variable(e.var)); }, [&](const Un&) { elementwise(); },
                        [&](const Bin&) { elementwise(); }, [&](const Sel&) { elementwise(); },
                        [&](const Convert& e) { conversion(id, e); }, [](const Imm&) {}, [](const Splat&) {},
                        [](const Fold&) {}, [&](const auto&) { ordered(); }},
               expr.node);
  }

  /// bf16 is always in memory's order, what it widens to and is rounded from is not.
  void conversion(ExprId id, const Convert& e) {
    const DType from = kernel_.type(e.a).dtype, to = kernel_.type(id).dtype;
    if (from == DType::bf16) inOrder(e.a);
    if (to == DType::bf16) inOrder(id);
    if (from == DType::bf16 && to == DType::f32)
      widens_[find(id.index)] = true;
    else if (from != DType::f32 || to != DType::bf16)
      join(e.a, id.index);
  }

  size_t variable(VarId var) const { return kernel_.exprCount() + var.index; }
  /// The same in every lane, so that any order is theirs.
  bool isUniform(ExprId id) const {
    const ExprNode& node = kernel_.expr(id).node;
    return std::holds_alternative<Imm>(node) || std::holds_alternative<Splat>(node);
  }

  void inOrder(ExprId id) { natural_[find(id.index)] = true; }
  void join(ExprId id, size_t other) {
    if (isUniform(id)) return;
    const size_t a = find(id.index), b = find(other);
    parent_[a] = b;
    natural_[b] = natural_[a] || natural_[b];
    widens_[b] = widens_[a] || widens_[b];
  }
  size_t find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  const Kernel& kernel_;
  const int leastLanes_;
  std::vector<bool> seen_;  // by expression: a statement makes use of it
  std::vector<size_t> parent_;
  std::vector<bool> natural_, widens_;  // of what is joined, at its root
};

}  // namespace

std::vector<bool> pairedExpressions(const Kernel& kernel, int leastLanes) {
  Orders orders(kernel, leastLanes);
  orders.visit(kernel.body);
  return orders.paired();
}

}  // namespace tokamak::codegen
