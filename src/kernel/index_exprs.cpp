#include "kernel/index_exprs.h"

#include <limits>

#include "kernel/operands.h"

namespace tokamak::kernel {

namespace {

class Finder {
 public:
  explicit Finder(const Kernel& kernel)
      : kernel_(kernel), isIndex_(kernel.exprCount(), false), isIndexVar_(kernel.variables.size(), false) {}

  std::vector<bool> run() {
    // Expressions come after their operands; what a variable holds is found first, from its own definition.
    block(kernel_.body);
    decideUpTo(kernel_.exprCount());
    return std::move(isIndex_);
  }

 private:
  void block(const Block& statements) {
    for (const Stmt& stmt : statements) {
      if (auto* let = std::get_if<Let>(&stmt.node)) isIndexVar_[let->var.index] = decide(let->value);
      if (auto* loop = std::get_if<For>(&stmt.node)) {
        isIndexVar_[loop->var.index] = decide(loop->begin) && decide(loop->end);
        block(loop->body);
      }
      if (auto* branch = std::get_if<If>(&stmt.node)) block(branch->then), block(branch->otherwise);
    }
  }

  /// A variable's expression is made after the variable, and used after its definition: what comes before `id` is
  /// known.
  bool decide(ExprId id) {
    decideUpTo(id.index + 1);
    return isIndex_[id.index];
  }

  void decideUpTo(size_t count) {
    for (; decided_ < count; ++decided_) isIndex_[decided_] = isIndex(kernel_.expr(ExprId(decided_)));
  }

  bool isIndex(const Expr& e) const {
    if (e.type.dtype != DType::i64) return false;
    const auto all = [&](std::initializer_list<ExprId> operands) {
      for (ExprId operand : operands)
        if (!isIndex_[operand.index]) return false;
      return true;
    };
    return std::visit(
        Overload{[](const Imm& n) {
                   return n.value.i >= std::numeric_limits<int32_t>::min() &&
                          n.value.i <= std::numeric_limits<int32_t>::max();
                 },
                 [](const Symbol&) { return true; }, [&](const Var& n) -> bool { return isIndexVar_[n.var.index]; },
                 [&](const Bin& n) { return isArithmetic(n.kind) && all({n.a, n.b}); },
                 [&](const Sel& n) { return all({n.a, n.b}); }, [&](const Splat& n) { return all({n.a}); },
                 [&](const Ramp& n) { return all({n.base}); }, [&](const Extract& n) { return all({n.a}); },
                 [](const auto&) { return false; }},
        e.node);
  }

  static bool isArithmetic(BinaryKind kind) {
    using enum BinaryKind;
    return kind == add || kind == sub || kind == mul || kind == div || kind == floordiv || kind == rem ||
           kind == fmod || kind == min || kind == max || kind == bit_and;
  }

  const Kernel& kernel_;
  std::vector<bool> isIndex_, isIndexVar_;
  size_t decided_ = 0;
};

}  // namespace

std::vector<bool> indexExprs(const Kernel& kernel) { return Finder(kernel).run(); }

}  // namespace tokamak::kernel
