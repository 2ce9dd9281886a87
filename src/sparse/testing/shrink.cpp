#include <algorithm>
#include <set>

#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

/// Tensors that some statement reads.
std::set<TensorId> usedTensors(const Program& program) {
  std::set<TensorId> out;
  std::vector<ExprId> todo;
  for (const Statement& s : program.statements()) todo.push_back(s.value);
  while (!todo.empty()) {
    const Expr& e = program.expr(todo.back());
    todo.pop_back();
    if (e.kind == ExprKind::access) out.insert(e.tensor);
    todo.insert(todo.end(), e.args.begin(), e.args.end());
  }
  return out;
}

/// The expression with `target` replaced by `by`.
ExprId replaced(Program& program, ExprId id, ExprId target, ExprId by) {
  if (id == target) return by;
  const Expr e = program.expr(id);
  if (e.args.empty()) return id;
  std::vector<ExprId> args;
  for (const ExprId arg : e.args) args.push_back(replaced(program, arg, target, by));
  switch (e.kind) {
    case ExprKind::apply: return program.apply(e.fn, args);
    case ExprKind::where: return program.where(args[0], args[1]);
    default: return program.reduce(e.fold, e.vars, args[0], {args.begin() + 1, args.end()});
  }
}

void collect(const Program& program, ExprId id, std::set<ExprId>& out) {
  if (!out.insert(id).second) return;
  for (const ExprId arg : program.expr(id).args) collect(program, arg, out);
}

class Shrinker {
 public:
  Shrinker(RandomCase failing, const std::function<bool(const RandomCase&)>& fails)
      : best_(std::move(failing)), fails_(fails) {}

  RandomCase run() {
    for (bool smaller = true; smaller && tries_ < 2000;) {
      smaller = dropStatements() || simplifySchedule() || simplifyExpressions() || dropEntries() || simplifyFormats();
    }
    return best_;
  }

 private:
  bool keep(RandomCase candidate) {
    if (++tries_ > 2000 || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  static void forget(Schedule& schedule, const std::string& tensor) {
    for (RegionSchedule& region : schedule.regions) std::erase(region.tensors, tensor);
    if (schedule.fuse == Schedule::Fuse::listed)
      std::erase_if(schedule.regions, [](const RegionSchedule& r) { return r.tensors.empty(); });
  }

  /// Programs cannot lose tensors, so a dropped statement's tensor becomes an input that nobody reads.
  bool dropStatements() {
    const std::set<TensorId> used = usedTensors(best_.program);
    for (size_t s = best_.program.statements().size(); s-- > 0 && best_.program.statements().size() > 1;) {
      const TensorId t = best_.program.statements()[s].tensor;
      if (used.contains(t)) continue;
      RandomCase candidate = best_;
      auto& statements = candidate.program.statements();
      statements.erase(statements.begin() + static_cast<int64_t>(s));
      TensorDecl& decl = candidate.program.tensors()[t.index];
      decl.role = Role::input;
      decl.format = Format::dense(static_cast<int>(decl.dims.size()));
      candidate.inputs[decl.name] = *pack({candidate.program.shape(t), {}, {}}, *decl.format, DType::f64);
      forget(candidate.schedule, decl.name);
      const TensorId last = statements.back().tensor;
      candidate.program.tensors()[last.index].role = Role::output;
      if (keep(std::move(candidate))) return true;
    }
    return false;
  }

  bool simplifySchedule() {
    for (size_t r = 0; r < best_.schedule.regions.size(); ++r) {
      for (int what = 0; what < 4; ++what) {
        RandomCase candidate = best_;
        RegionSchedule& region = candidate.schedule.regions[r];
        const bool nothing = what == 0   ? region.order.empty()
                             : what == 1 ? region.parallel.empty()
                             : what == 2 ? region.iterate.empty()
                                         : region.blocks.empty();
        if (nothing) continue;
        if (what == 0) region.order.clear();
        if (what == 1) region.parallel.clear();
        if (what == 2) region.iterate.clear();
        if (what == 3) region.blocks.clear();
        if (keep(std::move(candidate))) return true;
      }
    }
    return false;
  }

  bool simplifyExpressions() {
    for (size_t s = 0; s < best_.program.statements().size(); ++s) {
      std::set<ExprId> nodes;
      collect(best_.program, best_.program.statements()[s].value, nodes);
      for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
        std::vector<ExprId> by = best_.program.expr(*id).args;
        for (const ExprId arg : by) {
          RandomCase candidate = best_;
          Statement& statement = candidate.program.statements()[s];
          statement.value = replaced(candidate.program, statement.value, *id, arg);
          if (!isSound(candidate.program, statement)) continue;
          if (keep(std::move(candidate))) return true;
        }
      }
    }
    return false;
  }

  /// Free variables are exactly those on the left.
  static bool isSound(const Program& program, const Statement& statement) {
    std::vector<VarId> vars = statement.vars;
    std::sort(vars.begin(), vars.end());
    return program.freeVars(statement.value) == vars;
  }

  bool dropEntries() {
    for (const auto& [name, tensor] : best_.inputs) {
      const Entries entries = unpack(tensor);
      for (int64_t e = 0; e < std::min<int64_t>(entries.count(), 24); ++e) {
        RandomCase candidate = best_;
        Entries fewer = entries;
        const int rank = entries.rank();
        fewer.at.erase(fewer.at.begin() + e * rank, fewer.at.begin() + (e + 1) * rank);
        fewer.values.erase(fewer.values.begin() + e);
        Tensor packed = *pack(fewer, tensor.format, tensor.dtype);
        if (packed == tensor) continue;
        candidate.inputs[name] = std::move(packed);
        if (keep(std::move(candidate))) return true;
      }
    }
    return false;
  }

  bool simplifyFormats() {
    for (size_t t = 0; t < best_.program.tensors().size(); ++t) {
      const TensorDecl& decl = best_.program.tensors()[t];
      const Format dense = Format::dense(static_cast<int>(decl.dims.size()));
      if (decl.role == Role::input || !decl.format || *decl.format == dense) continue;
      RandomCase candidate = best_;
      candidate.program.tensors()[t].format = dense;
      if (keep(std::move(candidate))) return true;
    }
    return false;
  }

  RandomCase best_;
  const std::function<bool(const RandomCase&)>& fails_;
  int tries_ = 0;
};

}  // namespace

RandomCase shrink(RandomCase failing, const std::function<bool(const RandomCase&)>& fails) {
  return Shrinker(std::move(failing), fails).run();
}

}  // namespace tokamak::sparse
