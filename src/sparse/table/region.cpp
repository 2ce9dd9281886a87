#include "sparse/table/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tokamak::sparse {

namespace {

class Inliner {
 public:
  Inliner(const Program& from, const std::vector<size_t>& members, Region& region)
      : from_(from), to_(region.program), statementOf_(from.tensors().size(), -1) {
    to_.dims() = from.dims();
    for (const size_t s : members) statementOf_[from.statements()[s].tensor.index] = static_cast<int64_t>(s);
    const std::vector<bool> needed = neededOutside(from, members);
    for (size_t m = 0; m < members.size(); ++m)
      if (needed[m]) output(from.statements()[members[m]]);
  }

 private:
  using VarMap = std::map<VarId, VarId>;

  /// One use of a statement: its variables in the region's, and what is bound around it.
  struct Instance {
    VarMap vars;
    std::set<std::string> around;  // names
    std::map<ExprId, ExprId> done;
  };

  void output(const Statement& statement) {
    TensorDecl decl = from_.tensor(statement.tensor);
    decl.role = Role::output;
    const TensorId id = to_.addTensor(std::move(decl));
    std::vector<VarId> vars;
    for (const VarId v : statement.vars) vars.push_back(fresh(v, from_.tensor(statement.tensor).name, {}));
    const ExprId value = instance(statement, vars, {});
    to_.addStatement({id, std::move(vars), value, statement.location});
  }

  void boundVars(ExprId id, std::set<ExprId>& seen, std::set<VarId>& out) const {
    if (!seen.insert(id).second) return;
    const Expr& e = from_.expr(id);
    if (e.kind == ExprKind::reduce) out.insert(e.vars.begin(), e.vars.end());
    for (const ExprId arg : e.args) boundVars(arg, seen, out);
  }

  ExprId instance(const Statement& statement, const std::vector<VarId>& args, std::set<std::string> around) {
    Instance use;
    for (size_t i = 0; i < args.size(); ++i) {
      use.vars[statement.vars[i]] = args[i];
      around.insert(to_.var(args[i]).name);
    }
    std::set<ExprId> seen;
    std::set<VarId> bound;
    boundVars(statement.value, seen, bound);
    const std::string& owner = from_.tensor(statement.tensor).name;
    std::set<std::string> own;
    for (const VarId v : bound) {
      const VarId mapped = fresh(v, owner, around);
      use.vars[v] = mapped;
      own.insert(to_.var(mapped).name);
    }
    around.insert(own.begin(), own.end());
    std::vector<VarId> key = args;
    for (const VarId v : bound) key.push_back(use.vars[v]);
    const auto known = instances_.find({statement.tensor, key});
    if (known != instances_.end()) return known->second;
    use.around = std::move(around);
    const ExprId out = rewrite(statement.value, use);
    instances_[{statement.tensor, key}] = out;
    return out;
  }

  /// `v` under a name that nothing around has and that means no other dimension in the region.
  VarId fresh(VarId v, const std::string& owner, const std::set<std::string>& around) {
    const Var& var = from_.var(v);
    for (int attempt = 0;; ++attempt) {
      std::string name = var.name;
      if (attempt > 0) name += "_" + owner;
      if (attempt > 1) name += std::to_string(attempt);
      if (around.contains(name)) continue;
      const auto [known, added] = dimOf_.try_emplace(name, var.dim);
      if (known->second == var.dim) return to_.addVar(name, var.dim);
    }
  }

  ExprId rewrite(ExprId id, Instance& use) {
    if (const auto known = use.done.find(id); known != use.done.end()) return known->second;
    const ExprId out = rewriteNew(from_.expr(id), use);
    use.done[id] = out;
    return out;
  }

  ExprId rewriteNew(const Expr& e, Instance& use) {
    switch (e.kind) {
      case ExprKind::constant: return to_.constant(e.value);
      case ExprKind::extent: return to_.constant(static_cast<double>(from_.dim(e.dim).size));
      case ExprKind::access: return access(e, use);
      case ExprKind::where: {
        const ExprId pattern = rewrite(e.args[0], use);
        return to_.where(pattern, rewrite(e.args[1], use));
      }
      case ExprKind::reduce: return reduce(e, use);
      case ExprKind::apply: break;
    }
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(rewrite(arg, use));
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

  ExprId access(const Expr& e, Instance& use) {
    std::vector<VarId> vars;
    for (const VarId v : e.vars) vars.push_back(use.vars.at(v));
    if (const int64_t s = statementOf_[e.tensor.index]; s >= 0)
      return instance(from_.statements()[static_cast<size_t>(s)], vars, use.around);
    const auto [known, added] = inputs_.try_emplace(e.tensor);
    if (added) {
      TensorDecl decl = from_.tensor(e.tensor);
      decl.role = Role::input;
      known->second = to_.addTensor(std::move(decl));
    }
    return to_.access(known->second, std::move(vars));
  }

  ExprId reduce(const Expr& e, Instance& use) {
    const ExprId body = rewrite(e.args[0], use);
    std::vector<ExprId> patterns;
    for (size_t i = 1; i < e.args.size(); ++i) patterns.push_back(rewrite(e.args[i], use));
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
    if (e.fold == Fold::max || e.fold == Fold::min)
      return vars.empty() ? body : to_.reduce(e.fold, std::move(vars), body, patterns);
    const ExprId sum = vars.empty() ? body : to_.reduce(Fold::sum, vars, body, patterns);
    if (e.fold == Fold::mean) {
      if (!patterns.empty())
        return vars.empty() ? body : to_.apply(Fn::div, {sum, to_.reduce(Fold::sum, vars, to_.constant(1), patterns)});
      return vars.empty() ? body : to_.apply(Fn::div, {sum, to_.constant(all / outside)});
    }
    return outside == 1 ? sum : applied(Fn::mul, {sum, to_.constant(outside)});
  }

  const Program& from_;
  Program& to_;
  std::vector<int64_t> statementOf_;  // by tensor: the member that defines it, or -1
  std::map<TensorId, TensorId> inputs_;
  std::map<std::pair<TensorId, std::vector<VarId>>, ExprId> instances_;
  std::map<std::string, DimId> dimOf_;
};

void markUses(const Program& program, ExprId id, std::vector<bool>& seen, std::vector<bool>& used) {
  if (seen[id.index]) return;
  seen[id.index] = true;
  const Expr& e = program.expr(id);
  if (e.kind == ExprKind::access) used[e.tensor.index] = true;
  for (const ExprId arg : e.args) markUses(program, arg, seen, used);
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

std::vector<bool> neededOutside(const Program& program, const std::vector<size_t>& members) {
  std::vector<bool> used(program.tensors().size(), false), seen(program.exprCount(), false);
  for (size_t s = 0; s < program.statements().size(); ++s)
    if (!std::binary_search(members.begin(), members.end(), s))
      markUses(program, program.statements()[s].value, seen, used);
  const bool hasOutputs = std::any_of(program.tensors().begin(), program.tensors().end(),
                                      [](const TensorDecl& t) { return t.role == Role::output; });
  std::vector<bool> out;
  for (const size_t s : members) {
    const TensorId tensor = program.statements()[s].tensor;
    const bool last = !hasOutputs && s + 1 == program.statements().size();
    out.push_back(used[tensor.index] || program.tensor(tensor).role == Role::output || last);
  }
  return out;
}

Region fuseRegion(const Program& program, const std::vector<size_t>& statements) {
  Region out{statements, {}, {}};
  Inliner(program, statements, out);
  return out;
}

}  // namespace tokamak::sparse
