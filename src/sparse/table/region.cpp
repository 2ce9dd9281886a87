#include "sparse/table/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace tokamak::sparse {

namespace {

class Inliner {
 public:
  Inliner(const Program& from, const std::vector<size_t>& members, Region& region) : from_(from), to_(region.program) {
    to_.dims() = from.dims();
    for (const size_t s : members) statementOf_[from.statements()[s].tensor] = s;
  }

  void run(const std::vector<size_t>& members, const Readers& readers) {
    const std::vector<bool> needed = neededOutside(from_, members, readers);
    for (size_t m = 0; m < members.size(); ++m)
      if (needed[m]) output(from_.statements()[members[m]]);
  }

 private:
  using VarMap = std::map<VarId, VarId>;

  using Names = std::set<std::string>;

  /// One use of a statement: its variables in the region's.
  struct Instance {
    VarMap vars;
    std::map<std::pair<ExprId, Names>, ExprId> done;  // by what is bound around
  };

  void output(const Statement& statement) {
    TensorDecl decl = from_.tensor(statement.tensor);
    decl.role = Role::output;
    const TensorId id = to_.addTensor(std::move(decl));
    std::vector<VarId> vars;
    for (const VarId v : statement.vars) vars.push_back(fresh(v, {}));
    const ExprId value = instance(statement, vars, {});
    to_.addStatement({id, std::move(vars), value, statement.location});
  }

  void boundVars(ExprId id, std::set<ExprId>& seen, std::set<VarId>& out) const {
    if (!seen.insert(id).second) return;
    const Expr& e = from_.expr(id);
    if (e.kind == ExprKind::reduce) out.insert(e.vars.begin(), e.vars.end());
    for (const ExprId arg : e.args) boundVars(arg, seen, out);
  }

  ExprId instance(const Statement& statement, const std::vector<VarId>& args, Names around) {
    Instance use;
    for (size_t i = 0; i < args.size(); ++i) {
      use.vars[statement.vars[i]] = args[i];
      around.insert(to_.var(args[i]).name);
    }
    std::set<ExprId> seen;
    std::set<VarId> bound;
    boundVars(statement.value, seen, bound);
    Names taken = around;  // a statement's own variables are distinct
    std::vector<VarId> key = args;
    for (const VarId v : bound) {
      use.vars[v] = fresh(v, taken);
      taken.insert(to_.var(use.vars[v]).name);
      key.push_back(use.vars[v]);
    }
    const auto known = instances_.find({statement.tensor, key, around});
    if (known != instances_.end()) return known->second;
    const ExprId out = rewrite(statement.value, use, around);
    instances_[{statement.tensor, key, std::move(around)}] = out;
    return out;
  }

  /// `v` under a name that nothing around has and that means no other dimension in the region. The name depends on how
  /// deep `v` is among its likes, not on whose it is, so that uses that differ only in that are the same expression.
  VarId fresh(VarId v, const Names& around) {
    const Var& var = from_.var(v);
    for (int depth = 0;; ++depth) {
      const std::string name = depth == 0 ? var.name : fmt::format("{}_{}", var.name, depth);
      if (around.contains(name)) continue;
      const auto [known, added] = dimOf_.try_emplace(name, var.dim);
      if (known->second == var.dim) return to_.addVar(name, var.dim);
    }
  }

  /// `around`: the names that are bound where the expression stands.
  ExprId rewrite(ExprId id, Instance& use, const Names& around) {
    const auto key = std::pair{id, around};
    if (const auto known = use.done.find(key); known != use.done.end()) return known->second;
    const ExprId out = rewriteNew(from_.expr(id), use, around);
    use.done[key] = out;
    return out;
  }

  ExprId rewriteNew(const Expr& e, Instance& use, const Names& around) {
    switch (e.kind) {
      case ExprKind::constant: return to_.constant(e.value);
      case ExprKind::extent: return to_.constant(static_cast<double>(from_.dim(e.dim).size));
      case ExprKind::access: return access(e, use, around);
      case ExprKind::where: {
        const ExprId pattern = rewrite(e.args[0], use, around);
        return to_.where(pattern, rewrite(e.args[1], use, around));
      }
      case ExprKind::reduce: return reduce(e, use, around);
      case ExprKind::apply: break;
    }
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(rewrite(arg, use, around));
    return applied(e.fn, std::move(args));
  }

  /// fn(args), computed where all are numbers.
  ExprId applied(Fn fn, std::vector<ExprId> args) {
    std::vector<double> numbers;
    for (const ExprId arg : args)
      if (to_.expr(arg).kind == ExprKind::constant) numbers.push_back(to_.expr(arg).value);
    if (numbers.size() == args.size()) return to_.constant(evalFn(fn, numbers));
    return to_.apply(fn, std::move(args));
  }

  ExprId access(const Expr& e, Instance& use, const Names& around) {
    std::vector<VarId> vars;
    for (const VarId v : e.vars) vars.push_back(use.vars.at(v));
    if (const auto s = statementOf_.find(e.tensor); s != statementOf_.end())
      return instance(from_.statements()[s->second], vars, around);
    const auto [known, added] = inputs_.try_emplace(e.tensor);
    if (added) {
      TensorDecl decl = from_.tensor(e.tensor);
      decl.role = Role::input;
      known->second = to_.addTensor(std::move(decl));
    }
    return to_.access(known->second, std::move(vars));
  }

  ExprId reduce(const Expr& e, Instance& use, Names around) {
    for (const VarId v : e.vars) around.insert(to_.var(use.vars.at(v)).name);
    const ExprId body = rewrite(e.args[0], use, around);
    std::vector<ExprId> patterns;
    for (size_t i = 1; i < e.args.size(); ++i) patterns.push_back(rewrite(e.args[i], use, around));
    std::vector<VarId> vars;
    double outside = 1, all = 1;  // elements along the variables that nothing inside has, and along all
    for (const VarId v : e.vars) {
      const VarId mapped = use.vars.at(v);
      const auto has = [&](ExprId x) {
        return std::binary_search(to_.freeVars(x).begin(), to_.freeVars(x).end(), mapped);
      };
      const auto size = static_cast<double>(to_.size(mapped));
      all *= size;
      if (has(body) || std::any_of(patterns.begin(), patterns.end(), has))
        vars.push_back(mapped);
      else
        outside *= size;
    }
    if (all == 0) return to_.constant(0);
    const auto stored = [&] { return to_.reduce(Fold::sum, vars, to_.constant(1), patterns); };
    if (e.fold == Fold::max || e.fold == Fold::min) {
      if (vars.empty()) return body;
      const ExprId most = to_.reduce(e.fold, vars, body, patterns);
      return patterns.empty() ? most : to_.apply(Fn::select, {stored(), most, to_.constant(0)});
    }
    const ExprId sum = vars.empty() ? body : to_.reduce(Fold::sum, vars, body, patterns);
    if (e.fold == Fold::mean) {
      if (!patterns.empty()) return vars.empty() ? body : to_.apply(Fn::div, {sum, stored()});
      return vars.empty() ? body : to_.apply(Fn::div, {sum, to_.constant(all / outside)});
    }
    return outside == 1 ? sum : applied(Fn::mul, {sum, to_.constant(outside)});
  }

  const Program& from_;
  Program& to_;
  std::unordered_map<TensorId, size_t> statementOf_;  // the members that define tensors
  std::map<TensorId, TensorId> inputs_;
  std::map<std::tuple<TensorId, std::vector<VarId>, Names>, ExprId> instances_;
  std::map<std::string, DimId> dimOf_;
};

/// Notes once that a statement reads the tensors of an expression. `seen`: by expression, the last statement there.
void addReader(const Program& program, ExprId id, size_t statement, std::vector<size_t>& seen, Readers& out) {
  if (seen[id.index] == statement) return;
  seen[id.index] = statement;
  const Expr& e = program.expr(id);
  if (e.kind == ExprKind::access)
    if (std::vector<size_t>& readers = out[e.tensor.index]; readers.empty() || readers.back() != statement)
      readers.push_back(statement);
  for (const ExprId arg : e.args) addReader(program, arg, statement, seen, out);
}

}  // namespace

Format Region::wholeFormat(TensorId tensor, Format format) const {
  const auto found = parts.find(tensor);
  if (found == parts.end()) return format;
  for (Level& level : format.levels) {
    const AxisPart& part = found->second[static_cast<size_t>(level.axis)];
    level.axis = part.axis;
    level.part = part.part;
    level.block = part.block;
  }
  return format;
}

Readers readersOf(const Program& program) {
  Readers out(program.tensors().size());
  std::vector<size_t> seen(program.exprCount(), program.statements().size());
  for (size_t s = 0; s < program.statements().size(); ++s)
    addReader(program, program.statements()[s].value, s, seen, out);
  return out;
}

std::vector<bool> neededOutside(const Program& program, const std::vector<size_t>& members, const Readers& readers) {
  const bool hasOutputs = std::any_of(program.tensors().begin(), program.tensors().end(),
                                      [](const TensorDecl& t) { return t.role == Role::output; });
  std::vector<bool> out;
  for (const size_t s : members) {
    const TensorId tensor = program.statements()[s].tensor;
    const std::vector<size_t>& of = readers[tensor.index];
    const bool used = std::any_of(of.begin(), of.end(), [&](size_t reader) {
      return !std::binary_search(members.begin(), members.end(), reader);
    });
    const bool last = !hasOutputs && s + 1 == program.statements().size();
    out.push_back(used || program.tensor(tensor).role == Role::output || last);
  }
  return out;
}

Region fuseRegion(const Program& program, const std::vector<size_t>& statements, const Readers& readers) {
  Region out{.statements = statements};
  Inliner(program, statements, out).run(statements, readers);
  return out;
}

Region fuseRegion(const Program& program, const std::vector<size_t>& statements) {
  return fuseRegion(program, statements, readersOf(program));
}

}  // namespace tokamak::sparse
