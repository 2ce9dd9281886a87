#include "sparse/algebra/work.h"

#include <algorithm>
#include <cmath>

namespace tokamak::sparse {

WorkModel::WorkModel(const Program& program, const std::map<std::string, double>& densities) : program_(program) {
  for (size_t t = 0; t < program.tensors().size(); ++t) {
    const TensorDecl& decl = program.tensors()[t];
    const auto known = densities.find(decl.name);
    const bool dense = !decl.format || decl.format->isDense();
    densities_[TensorId(t)] = known != densities.end() ? known->second : dense ? 1 : 0.1;
  }
}

double WorkModel::points(const std::vector<VarId>& vars) const {
  double out = 1;
  for (const VarId v : vars) out *= static_cast<double>(std::max<int64_t>(1, program_.size(v)));
  return out;
}

WorkModel::Work WorkModel::of(ExprId id) {
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  const Work out = ofNew(program_.expr(id), id);
  known_[id] = out;
  return out;
}

WorkModel::Work WorkModel::of(const Statement& statement) {
  const Work out = of(statement.value);
  densities_[statement.tensor] = out.density;
  return out;
}

double WorkModel::densityOfApply(const Expr& e) {
  std::vector<double> of, atZero;
  for (const ExprId arg : e.args) {
    const Expr& a = program_.expr(arg);
    const bool constant = a.kind == ExprKind::constant;
    of.push_back(constant ? a.value != 0 : this->of(arg).density);
    atZero.push_back(constant ? a.value : 0);
  }
  if (e.fn == Fn::mul || e.fn == Fn::logical_and) return of[0] * of[1];
  if (e.fn == Fn::div) return of[0];
  if (evalFn(e.fn, atZero) != 0) return 1;
  double none = 1;
  for (size_t i = 0; i < of.size(); ++i)
    if (program_.expr(e.args[i]).kind != ExprKind::constant) none *= 1 - of[i];
  return 1 - none;
}

WorkModel::Work WorkModel::ofNew(const Expr& e, ExprId id) {
  Work out;
  for (const ExprId arg : e.args) out.operations += of(arg).operations;
  switch (e.kind) {
    case ExprKind::constant: out.density = e.value != 0; break;
    case ExprKind::extent: break;
    case ExprKind::access: out.density = densities_[e.tensor]; break;
    case ExprKind::where: out.density = of(e.args[0]).density * of(e.args[1]).density; break;
    case ExprKind::apply:
      out.density = densityOfApply(e);
      out.operations += points(program_.freeVars(id)) * out.density;
      break;
    case ExprKind::reduce: {
      double visited = 1;
      std::vector<VarId> vars = e.vars;
      for (const ExprId arg : e.args) {
        visited *= of(arg).density;
        vars.insert(vars.end(), program_.freeVars(arg).begin(), program_.freeVars(arg).end());
      }
      std::sort(vars.begin(), vars.end());
      vars.erase(std::unique(vars.begin(), vars.end()), vars.end());
      out.operations += points(vars) * visited;
      out.density = 1 - std::pow(1 - visited, points(e.vars));
      break;
    }
  }
  return out;
}

}  // namespace tokamak::sparse
