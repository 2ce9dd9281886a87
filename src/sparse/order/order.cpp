#include "sparse/order/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sparse/table/build.h"

namespace tokamak::sparse {

namespace {

/// The accesses and variables of a region, each once, in order of appearance.
struct Uses {
  std::vector<ExprId> accesses, folds;
  std::vector<VarId> vars;
};

void addVar(Uses& out, VarId v) {
  if (std::find(out.vars.begin(), out.vars.end(), v) == out.vars.end()) out.vars.push_back(v);
}

void collect(const Program& program, ExprId id, std::vector<bool>& seen, Uses& out) {
  if (seen[id.index]) return;
  seen[id.index] = true;
  const Expr& e = program.expr(id);
  for (const VarId v : e.vars) addVar(out, v);
  if (e.kind == ExprKind::access) out.accesses.push_back(id);
  if (e.kind == ExprKind::reduce) out.folds.push_back(id);
  for (const ExprId arg : e.args) collect(program, arg, seen, out);
}

Uses usesOf(const Program& program) {
  Uses out;
  std::vector<bool> seen(program.exprCount(), false);
  for (const Statement& s : program.statements()) {
    for (const VarId v : s.vars) addVar(out, v);
    collect(program, s.value, seen, out);
  }
  return out;
}

Format ownFormat(const Program& program, ExprId access) {
  const TensorDecl& decl = program.tensor(program.expr(access).tensor);
  return walkedFormat(decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size()))));
}

/// Whether `to` can be reached from `from` along the edges.
bool reaches(const std::vector<OrderEdge>& edges, VarId from, VarId to, std::vector<VarId>& seen) {
  if (from == to) return true;
  if (std::find(seen.begin(), seen.end(), from) != seen.end()) return false;
  seen.push_back(from);
  return std::any_of(edges.begin(), edges.end(),
                     [&](const OrderEdge& e) { return e.before == from && reaches(edges, e.after, to, seen); });
}

std::vector<OrderEdge> edgesOf(const Program& program, ExprId access) {
  std::vector<OrderEdge> out;
  const Format format = ownFormat(program, access);
  const std::vector<VarId>& vars = program.expr(access).vars;
  for (size_t l = 1; l < format.levels.size(); ++l)
    out.push_back({vars[static_cast<size_t>(format.levels[l - 1].axis)],
                   vars[static_cast<size_t>(format.levels[l].axis)], access});
  return out;
}

bool closesCycle(const std::vector<OrderEdge>& edges, const std::vector<OrderEdge>& more) {
  return std::any_of(more.begin(), more.end(), [&](const OrderEdge& e) {
    std::vector<VarId> seen;
    return reaches(edges, e.after, e.before, seen);
  });
}

Result<std::vector<OrderEdge>> wishedEdges(const Program& program, const Uses& uses, const OrderWish& wished) {
  std::vector<OrderEdge> out;
  VarId previous;
  for (const std::string& name : wished.vars) {
    const auto found =
        std::find_if(uses.vars.begin(), uses.vars.end(), [&](VarId v) { return program.var(v).name == name; });
    if (found == uses.vars.end()) {
      std::vector<std::string_view> names;
      for (const VarId v : uses.vars) names.push_back(program.var(v).name);
      return Diagnostic{"T0970",
                        {},
                        fmt::format("{} is no index variable of the region", name),
                        fmt::format("its variables are {}", fmt::join(names, ", "))};
    }
    if (previous && previous == *found)
      return Diagnostic{"T0970", {}, fmt::format("{} comes twice in the order", name), "name each variable once"};
    if (previous) out.push_back({previous, *found, {}});
    previous = *found;
  }
  for (const OrderEdge& e : out) {
    std::vector<VarId> seen;
    if (reaches(out, e.after, e.before, seen))
      return Diagnostic{"T0970",
                        {},
                        fmt::format("{} comes twice in the order", program.var(e.before).name),
                        "name each variable once"};
  }
  if (wished.first && previous)
    for (const VarId v : uses.vars)
      if (std::find(wished.vars.begin(), wished.vars.end(), program.var(v).name) == wished.vars.end())
        out.push_back({previous, v, {}});
  return out;
}

/// With these loops a fold's result comes value by value, not as a stream of several levels.
void addFoldEdges(const Program& program, const Uses& uses, std::vector<OrderEdge>& edges) {
  for (const ExprId fold : uses.folds)
    for (const VarId free : program.freeVars(fold))
      for (const VarId folded : program.expr(fold).vars)
        if (const OrderEdge edge{free, folded, {}}; !closesCycle(edges, {edge})) edges.push_back(edge);
}

/// A fold and one of its variables that comes before one of its result in what other folds ask for.
std::optional<std::pair<ExprId, VarId>> contradiction(const Program& program) {
  const Uses uses = usesOf(program);
  std::vector<OrderEdge> edges;
  for (const ExprId fold : uses.folds)
    for (const VarId folded : program.expr(fold).vars)
      for (const VarId free : program.freeVars(fold)) {
        const OrderEdge edge{free, folded, {}};
        if (closesCycle(edges, {edge})) return std::pair{fold, folded};
        edges.push_back(edge);
      }
  return std::nullopt;
}

VarId newVar(Program& program, VarId like) {
  const Var var = program.var(like);
  for (int n = 1;; ++n) {
    const std::string name = fmt::format("{}_{}", var.name, n);
    bool taken = false;
    for (size_t v = 0; v < program.varCount(); ++v) taken = taken || program.var(VarId(v)).name == name;
    if (!taken) return program.addVar(name, var.dim);
  }
}

/// Expressions with one variable as another, or with one expression as another.
class Rewrite {
 public:
  Rewrite(Program& program, VarId from, VarId to) : program_(program), from_(from), to_(to) {}
  Rewrite(Program& program, ExprId from, ExprId to) : program_(program) { known_[from] = to; }

  ExprId operator()(ExprId id) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    Expr e = program_.expr(id);
    for (VarId& v : e.vars)
      if (from_ && v == from_) v = to_;
    for (ExprId& arg : e.args) arg = (*this)(arg);
    switch (e.kind) {
      case ExprKind::access: return known_[id] = program_.access(e.tensor, std::move(e.vars));
      case ExprKind::apply: return known_[id] = program_.apply(e.fn, std::move(e.args));
      case ExprKind::where: return known_[id] = program_.where(e.args[0], e.args[1]);
      case ExprKind::reduce:
        return known_[id] = program_.reduce(e.fold, std::move(e.vars), e.args[0], {e.args.begin() + 1, e.args.end()});
      case ExprKind::constant:
      case ExprKind::extent: break;
    }
    return known_[id] = id;
  }

 private:
  Program& program_;
  VarId from_, to_;
  std::map<ExprId, ExprId> known_;
};

}  // namespace

std::optional<Program> foldsApart(const Program& program) {
  if (!contradiction(program)) return std::nullopt;
  Program out = program;
  while (const auto found = contradiction(out)) {
    const auto [fold, folded] = *found;
    const ExprId own = Rewrite(out, folded, newVar(out, folded))(fold);
    Rewrite rest(out, fold, own);
    for (Statement& s : out.statements()) s.value = rest(s.value);
  }
  return out;
}

Nests::Nests(const Program& program) : together_(program.varCount(), std::vector<bool>(program.varCount(), false)) {
  using Vars = std::set<VarId>;
  std::vector<Vars> around(program.exprCount());  // loops that an expression may stand in
  const auto note = [&](const Vars& nest) {
    for (const VarId a : nest)
      for (const VarId b : nest) together_[a.index][b.index] = true;
  };
  for (const Statement& s : program.statements()) {
    around[s.value.index].insert(s.vars.begin(), s.vars.end());
    note({s.vars.begin(), s.vars.end()});
  }
  for (size_t e = program.exprCount(); e-- > 0;) {  // an expression is made after its operands
    const Expr& expr = program.expr(ExprId(e));
    Vars& inside = around[e];
    if (expr.kind == ExprKind::reduce) {
      inside.insert(expr.vars.begin(), expr.vars.end());
      note(inside);
    }
    for (const ExprId arg : expr.args) around[arg.index].insert(inside.begin(), inside.end());
    Vars().swap(inside);
  }
}

Nests::Key Nests::keyOf(const std::vector<VarId>& order) const {
  Key out(together_.size());
  std::vector<bool> before(together_.size(), false);
  for (const VarId v : order) {
    std::vector<bool>& of = out[v.index];
    of = before;
    for (size_t i = 0; i < of.size(); ++i) of[i] = of[i] && together_[v.index][i];
    before[v.index] = true;
  }
  return out;
}

Result<OrderProblem> orderProblem(const Region& region, const OrderWish& wished,
                                  const std::function<double(TensorId)>& bytes) {
  const Program& program = region.program;
  Uses uses = usesOf(program);
  OrderProblem out{uses.vars, {}, {}};
  TK_TRY(out.edges, wishedEdges(program, uses, wished));
  if (wished.foldsInside) addFoldEdges(program, uses, out.edges);
  std::stable_sort(uses.accesses.begin(), uses.accesses.end(),
                   [&](ExprId a, ExprId b) { return bytes(program.expr(a).tensor) > bytes(program.expr(b).tensor); });
  for (const ExprId access : uses.accesses) {
    const std::vector<OrderEdge> more = edgesOf(program, access);
    std::vector<OrderEdge> with = out.edges;
    bool fits = true;
    for (const OrderEdge& e : more) {
      fits = fits && !closesCycle(with, {e});
      with.push_back(e);
    }
    if (fits)
      out.edges = std::move(with);
    else
      out.copied.push_back(access);
  }
  return out;
}

namespace {

/// Depth first over what may come next. False: the visitor has had enough.
bool extend(const OrderProblem& problem, std::vector<VarId>& prefix,
            const std::function<bool(const std::vector<VarId>&)>& visit) {
  if (prefix.size() == problem.vars.size()) return visit(prefix);
  const auto placed = [&](VarId v) { return std::find(prefix.begin(), prefix.end(), v) != prefix.end(); };
  for (const VarId v : problem.vars) {
    if (placed(v)) continue;
    const bool waits = std::any_of(problem.edges.begin(), problem.edges.end(),
                                   [&](const OrderEdge& e) { return e.after == v && !placed(e.before); });
    if (waits) continue;
    prefix.push_back(v);
    if (!extend(problem, prefix, visit)) return false;
    prefix.pop_back();
  }
  return true;
}

}  // namespace

void OrderProblem::forEachOrder(const std::function<bool(const std::vector<VarId>&)>& visit) const {
  std::vector<VarId> prefix;
  extend(*this, prefix, visit);
}

std::map<ExprId, Format> copiedViews(const Region& region, const OrderProblem& problem,
                                     const std::vector<VarId>& order) {
  std::map<ExprId, Format> out;
  for (const ExprId access : problem.copied) {
    const std::vector<VarId>& vars = region.program.expr(access).vars;
    Format format = ownFormat(region.program, access);
    std::vector<int> axes;
    for (const Level& level : format.levels) axes.push_back(level.axis);
    const auto place = [&](int axis) {
      return std::find(order.begin(), order.end(), vars[static_cast<size_t>(axis)]) - order.begin();
    };
    std::sort(axes.begin(), axes.end(), [&](int a, int b) { return place(a) < place(b); });
    const bool dense = format.isDense();
    for (size_t l = 0; l < axes.size(); ++l) {
      format.levels[l].axis = axes[l];
      if (l > 0 && !dense) format.levels[l].kind = LevelKind::compressed;  // below it exactly what is stored
    }
    out[access] = format;
  }
  return out;
}

}  // namespace tokamak::sparse
