#include "sparse/algebra/product.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tokamak::sparse {

namespace {

bool contains(const std::vector<VarId>& vars, VarId v) { return std::find(vars.begin(), vars.end(), v) != vars.end(); }

void collect(const Program& program, ExprId id, Product& out) {
  const Expr& e = program.expr(id);
  if (e.kind == ExprKind::apply && e.fn == Fn::mul) {
    for (const ExprId arg : e.args) collect(program, arg, out);
    return;
  }
  const bool sum = e.kind == ExprKind::reduce && e.fold == Fold::sum && e.args.size() == 1;
  const bool clash = std::any_of(e.vars.begin(), e.vars.end(), [&](VarId v) { return contains(out.folded, v); });
  if (sum && !clash) {
    out.folded.insert(out.folded.end(), e.vars.begin(), e.vars.end());
    collect(program, e.args[0], out);
    return;
  }
  out.factors.push_back(id);
}

/// Dynamic programming over sets of factors.
class TreeSearch {
 public:
  TreeSearch(Program& program, const Product& product, WorkModel& work)
      : program_(program), product_(product), work_(work) {
    best_.resize(size_t{1} << product.factors.size());
  }

  ExprId run() {
    const size_t all = best_.size() - 1;
    for (size_t set = 1; set <= all; ++set) std::has_single_bit(set) ? single(set) : several(set);
    return build(all);
  }

 private:
  struct Best {
    double cost = 0, density = 1;
    size_t left = 0;            // of the two sets that it is made of; 0: a single factor
    std::vector<VarId> vars;    // that are left when its own sums are done
    std::vector<VarId> summed;  // when it is complete
  };

  std::vector<VarId> varsOf(size_t set) const {
    std::vector<VarId> out;
    for (size_t f = 0; f < product_.factors.size(); ++f)
      if (set >> f & 1)
        for (const VarId v : program_.freeVars(product_.factors[f]))
          if (!contains(out, v)) out.push_back(v);
    return out;
  }

  /// Which of `vars` nobody outside the set needs.
  void settle(size_t set, const std::vector<VarId>& vars, Best& out) const {
    const std::vector<VarId> outside = varsOf(best_.size() - 1 - set);
    for (const VarId v : vars) {
      const bool mine = contains(product_.folded, v) && !contains(outside, v);
      (mine ? out.summed : out.vars).push_back(v);
    }
  }

  void single(size_t set) {
    const size_t f = static_cast<size_t>(std::countr_zero(set));
    const WorkModel::Work work = work_.of(product_.factors[f]);
    Best& out = best_[set];
    settle(set, program_.freeVars(product_.factors[f]), out);
    out.cost = work.operations;
    out.density = work.density;
    finish(out, work_.points(program_.freeVars(product_.factors[f])) * work.density);
  }

  /// Adds the cost of the sums, over `visited` points.
  void finish(Best& out, double visited) const {
    if (out.summed.empty()) return;
    out.cost += visited;
    out.density = 1 - std::pow(1 - out.density, work_.points(out.summed));
  }

  void several(size_t set) {
    bool first = true;
    for (size_t left = (set - 1) & set; left > 0; left = (left - 1) & set) {
      const size_t right = set & ~left;
      if (left < right) continue;  // each pair once
      Best candidate;
      const Best &a = best_[left], &b = best_[right];
      std::vector<VarId> vars = a.vars;
      for (const VarId v : b.vars)
        if (!contains(vars, v)) vars.push_back(v);
      settle(set, vars, candidate);
      candidate.left = left;
      candidate.density = a.density * b.density;
      const double visited = work_.points(vars) * candidate.density;
      candidate.cost = a.cost + b.cost + visited;
      finish(candidate, visited);
      if (first || candidate.cost < best_[set].cost) best_[set] = std::move(candidate);
      first = false;
    }
  }

  ExprId build(size_t set) {
    const Best& b = best_[set];
    ExprId out;
    if (b.left == 0) {
      out = product_.factors[static_cast<size_t>(std::countr_zero(set))];
    } else {
      size_t first = b.left, second = set & ~b.left;
      if (std::countr_zero(first) > std::countr_zero(second)) std::swap(first, second);  // factors as written
      const ExprId x = build(first);
      out = program_.apply(Fn::mul, {x, build(second)});
    }
    return b.summed.empty() ? out : program_.reduce(Fold::sum, b.summed, out);
  }

  Program& program_;
  const Product& product_;
  WorkModel& work_;
  std::vector<Best> best_;
};

}  // namespace

Product productOf(const Program& program, ExprId id) {
  Product out;
  collect(program, id, out);
  return out;
}

ExprId cheapestTree(Program& program, const Product& product, WorkModel& work) {
  return TreeSearch(program, product, work).run();
}

ExprId renamed(Program& program, ExprId id, const std::map<VarId, VarId>& names) {
  const Expr e = program.expr(id);
  std::vector<VarId> vars;
  for (const VarId v : e.vars) vars.push_back(names.contains(v) ? names.at(v) : v);
  std::vector<ExprId> args;
  for (const ExprId arg : e.args) args.push_back(renamed(program, arg, names));
  switch (e.kind) {
    case ExprKind::access: return program.access(e.tensor, std::move(vars));
    case ExprKind::apply: return program.apply(e.fn, std::move(args));
    case ExprKind::where: return program.where(args[0], args[1]);
    case ExprKind::reduce: return program.reduce(e.fold, std::move(vars), args[0], {args.begin() + 1, args.end()});
    default: return id;
  }
}

}  // namespace tokamak::sparse
