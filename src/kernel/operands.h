#pragma once

#include "kernel/kernel.h"

namespace tokamak::kernel {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

/// Calls `f` on every operand of an expression in order; absent masks are left out. Operands are interned before the
/// expressions that use them, so their ids are smaller.
template <class F>
void forEachOperand(const ExprNode& node, F&& f) {
  std::visit(
      Overload{[](const Imm&) {}, [](const Symbol&) {}, [](const Var&) {}, [&](const Un& n) { f(n.a); },
               [&](const Bin& n) { f(n.a), f(n.b); }, [&](const Sel& n) { f(n.condition), f(n.a), f(n.b); },
               [&](const Convert& n) { f(n.a); },
               [&](const Load& n) {
                 f(n.index);
                 if (n.mask) f(n.mask);
               },
               [&](const Splat& n) { f(n.a); }, [&](const Ramp& n) { f(n.base); }, [&](const Fold& n) { f(n.a); },
               [&](const Prefix& n) { f(n.a); }, [&](const WarpFold& n) { f(n.a); },
               [&](const WarpPrefix& n) { f(n.a); }, [&](const WarpShift& n) { f(n.a), f(n.first); },
               [&](const Extract& n) { f(n.a); }, [&](const Philox& n) { f(n.seed), f(n.offset), f(n.index); },
               [&](const Within& n) { f(n.a), f(n.extent), f(n.mask); }},
      node);
}

/// Calls `f` on every expression a statement evaluates itself (those of the statements within it are not its own).
template <class F>
void forEachExpr(const Stmt& stmt, F&& f) {
  std::visit(
      Overload{[&](const For& s) { f(s.begin), f(s.end); }, [&](const Let& s) { f(s.value); },
               [&](const Declare& s) { f(s.value); }, [&](const Assign& s) { f(s.value); },
               [&](const Store& s) {
                 f(s.index);
                 if (s.mask) f(s.mask);
                 f(s.value);
               },
               [&](const Prefetch& s) { f(s.index); }, [&](const If& s) { f(s.condition); }, [](const Barrier&) {}},
      stmt.node);
}

}  // namespace tokamak::kernel
