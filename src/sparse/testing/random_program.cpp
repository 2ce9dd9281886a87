#include "sparse/testing/random_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sparse/lower/compile.h"
#include "sparse/order/order.h"
#include "sparse/table/split.h"

namespace tokamak::sparse {

namespace {

using Random = std::mt19937_64;

int64_t pick(Random& random, int64_t below) { return static_cast<int64_t>(random() % static_cast<uint64_t>(below)); }
bool chance(Random& random, int percent) { return pick(random, 100) < percent; }

/// Some axes in blocks of any size, each axis's outer part before its inner one.
Format randomBlocks(const std::vector<int>& axes, Random& random) {
  if (axes.size() == 2 && chance(random, 50))
    return *namedFormat("bcsr", 2, {1 + pick(random, 5), 1 + pick(random, 5)});
  Format out;
  const auto add = [&](int axis, LevelPart part, int64_t block, size_t from) {
    const size_t at = from + static_cast<size_t>(pick(random, static_cast<int64_t>(out.levels.size() - from) + 1));
    const LevelKind kind = chance(random, 50) ? LevelKind::compressed : LevelKind::dense;
    out.levels.insert(out.levels.begin() + static_cast<int64_t>(at), {kind, axis, part, block});
    return at;
  };
  for (const int axis : axes) {
    if (chance(random, 40)) {
      add(axis, LevelPart::whole, 1, 0);
      continue;
    }
    const int64_t block = 1 + pick(random, 5);
    const size_t outer = add(axis, LevelPart::outer, block, 0);
    add(axis, LevelPart::inner, block, outer + 1);
  }
  return out;
}

Format randomFormat(int rank, Random& random) {
  if (rank == 0 || chance(random, 25)) return Format::dense(rank);
  if (chance(random, 10)) return Format::coo(rank);
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random);
  if (chance(random, 15)) return randomBlocks(axes, random);
  Format out;
  for (const int axis : axes)
    out.levels.push_back({chance(random, 65) ? LevelKind::compressed : LevelKind::dense, axis});
  return out;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  RandomCase run() {
    const auto dims = 1 + pick(random_, 3);
    for (int64_t d = 0; d < dims; ++d) {
      const int64_t size = chance(random_, 4) ? 0 : chance(random_, 10) ? 1 : 2 + pick(random_, 3);
      p().addDim(fmt::format("N{}", d), size);
    }
    inputs();
    const auto statements = 1 + pick(random_, 5);
    for (int64_t s = 0; s < statements; ++s) statement(s, s + 1 == statements);
    schedule();
    out_.inputs = randomInputs(p(), static_cast<double>(pick(random_, 5)) / 4, random_);
    drawAgain();
    return std::move(out_);
  }

 private:
  Program& p() { return out_.program; }

  void inputs() {
    for (size_t d = 0; d < p().dims().size(); ++d) input({DimId(d)});
    const auto more = 1 + pick(random_, 4);
    for (int64_t i = 0; i < more; ++i) {
      std::vector<DimId> dims;
      const auto rank = chance(random_, 10) ? 0 : 1 + pick(random_, 3);
      for (int64_t r = 0; r < rank; ++r)
        dims.emplace_back(static_cast<size_t>(pick(random_, static_cast<int64_t>(p().dims().size()))));
      input(std::move(dims));
    }
  }

  void input(std::vector<DimId> dims) {
    TensorDecl decl{.name = fmt::format("A{}", p().tensors().size()), .role = Role::input, .dims = std::move(dims)};
    decl.dtype = DType::f64;
    decl.format = randomFormat(static_cast<int>(decl.dims.size()), random_);
    p().addTensor(std::move(decl));
  }

  VarId var(DimId dim, int which) { return p().addVar(fmt::format("{}{}", "ijk"[which % 3], dim.index), dim); }

  /// An access whose indices are all among `vars`, if there is one.
  std::optional<ExprId> access(const std::vector<VarId>& vars, bool inputOnly = false, VarId needed = {}) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const TensorId t(static_cast<size_t>(pick(random_, static_cast<int64_t>(p().tensors().size()))));
      const TensorDecl& decl = p().tensor(t);
      if (inputOnly && decl.role != Role::input) continue;
      std::vector<VarId> indices;
      for (const DimId d : decl.dims) {
        std::vector<VarId> fits;
        for (const VarId v : vars)
          if (p().var(v).dim == d && std::find(indices.begin(), indices.end(), v) == indices.end()) fits.push_back(v);
        if (fits.empty()) break;
        indices.push_back(fits[static_cast<size_t>(pick(random_, static_cast<int64_t>(fits.size())))]);
      }
      if (indices.size() != decl.dims.size()) continue;
      if (needed && std::find(indices.begin(), indices.end(), needed) == indices.end()) continue;
      return p().access(t, std::move(indices));
    }
    return std::nullopt;
  }

  ExprId leaf(const std::vector<VarId>& vars) {
    if (!chance(random_, 12))
      if (const auto found = access(vars)) return *found;
    return p().constant(static_cast<double>(pick(random_, 7)) / 2 - 1);
  }

  ExprId expression(const std::vector<VarId>& vars, int depth) {
    if (depth == 0) return leaf(vars);
    const auto sub = [&] { return expression(vars, depth - 1); };
    const int64_t kind = pick(random_, 100);
    if (kind < 12) return leaf(vars);
    if (kind < 52) return binary(sub(), sub());
    if (kind < 66) return unary(sub());
    if (kind < 71) return p().apply(Fn::select, {sub(), sub(), sub()});
    if (kind < 78) {
      const auto pattern = access(vars, true);
      const ExprId body = sub();
      return pattern ? p().where(*pattern, body) : body;
    }
    return reduction(vars, depth);
  }

  ExprId binary(ExprId a, ExprId b) {
    static constexpr Fn kFns[] = {Fn::mul, Fn::mul, Fn::mul, Fn::add, Fn::add, Fn::sub,         Fn::max,
                                  Fn::min, Fn::lt,  Fn::ge,  Fn::ne,  Fn::eq,  Fn::logical_and, Fn::logical_or};
    if (chance(random_, 8))  // a quotient that stays finite
      return p().apply(Fn::div, {a, p().apply(Fn::add, {p().constant(1), p().apply(Fn::abs, {b})})});
    return p().apply(kFns[pick(random_, std::size(kFns))], {a, b});
  }

  ExprId unary(ExprId a) {
    static constexpr Fn kFns[] = {Fn::neg, Fn::abs, Fn::tanh, Fn::sigmoid, Fn::relu,        Fn::gelu,     Fn::silu,
                                  Fn::sin, Fn::cos, Fn::erf,  Fn::relu,    Fn::logical_not, Fn::gelu_tanh};
    if (chance(random_, 12)) return p().apply(Fn::exp, {p().apply(Fn::tanh, {a})});
    if (chance(random_, 10)) return p().apply(Fn::sqrt, {p().apply(Fn::abs, {a})});
    return p().apply(kFns[pick(random_, std::size(kFns))], {a});
  }

  ExprId reduction(std::vector<VarId> vars, int depth) {
    std::vector<VarId> folded;
    const auto count = 1 + pick(random_, 2);
    for (int64_t i = 0; i < count; ++i) {
      const DimId dim(static_cast<size_t>(pick(random_, static_cast<int64_t>(p().dims().size()))));
      for (int which = 0; which < 3; ++which)
        if (const VarId v = var(dim, which); std::find(vars.begin(), vars.end(), v) == vars.end()) {
          folded.push_back(v);
          vars.push_back(v);
          break;
        }
    }
    if (folded.empty()) return leaf(vars);
    static constexpr Fold kFolds[] = {Fold::sum, Fold::sum, Fold::sum, Fold::max, Fold::min, Fold::mean};
    const Fold fold = kFolds[pick(random_, std::size(kFolds))];
    ExprId body = expression(vars, depth - 1);
    std::vector<ExprId> patterns;
    if (chance(random_, 30))
      if (const auto pattern = access(vars, true, folded[0])) patterns.push_back(*pattern);
    for (const VarId v : folded) body = using_(body, v, vars, patterns);
    return p().reduce(fold, folded, body, patterns);
  }

  /// The expression with an operand more where it lacks the variable.
  ExprId using_(ExprId e, VarId v, const std::vector<VarId>& vars, const std::vector<ExprId>& patterns = {}) {
    const auto has = [&](ExprId x) { return std::binary_search(p().freeVars(x).begin(), p().freeVars(x).end(), v); };
    if (has(e) || std::any_of(patterns.begin(), patterns.end(), has)) return e;
    auto more = access(vars, false, v);
    if (!more) more = p().access(TensorId(p().var(v).dim.index), {v});  // the vector along each dimension
    return p().apply(chance(random_, 60) ? Fn::mul : Fn::add, {e, *more});
  }

  void statement(int64_t number, bool last) {
    std::vector<VarId> vars;
    const auto rank = pick(random_, 4);
    for (int64_t r = 0; r < rank; ++r) {
      const VarId v = var(DimId(static_cast<size_t>(pick(random_, static_cast<int64_t>(p().dims().size())))),
                          static_cast<int>(pick(random_, 2)));
      if (std::find(vars.begin(), vars.end(), v) == vars.end()) vars.push_back(v);
    }
    ExprId value = expression(vars, 1 + static_cast<int>(pick(random_, 3)));
    for (const VarId v : vars) value = using_(value, v, vars);
    TensorDecl decl{.name = fmt::format("T{}", number)};
    decl.role = last || chance(random_, 25) ? Role::output : Role::temp;
    decl.dtype = DType::f64;
    decl.declared = true;
    for (const VarId v : vars) decl.dims.push_back(p().var(v).dim);
    if (chance(random_, 50)) decl.format = randomFormat(static_cast<int>(vars.size()), random_);
    if (!decl.format && decl.role == Role::temp && chance(random_, 70)) {
      decl.declared = false;
      decl.dtype = DType::f32;
    }
    const TensorId t = p().addTensor(std::move(decl));
    p().addStatement({t, std::move(vars), value, {}});
  }

  void schedule() {
    out_.schedule.name = "random";
    const auto style = pick(random_, 4);
    if (style == 3) out_.schedule.fuse = Schedule::Fuse::automatic;
    if (style == 0) out_.schedule.fuse = Schedule::Fuse::all;
    if (style == 1) {
      std::vector<std::string> run;
      for (const Statement& s : p().statements()) {
        if (!run.empty() && chance(random_, 40)) {
          out_.schedule.regions.push_back({.tensors = std::move(run)});
          run.clear();
        }
        run.push_back(p().tensor(s.tensor).name);
      }
      out_.schedule.regions.push_back({.tensors = std::move(run)});
    }
    if (style == 2)
      for (const Statement& s : p().statements())
        out_.schedule.regions.push_back({.tensors = {p().tensor(s.tensor).name}});
    if (style != 3 && chance(random_, 15)) blocks();
    if (style != 3 && chance(random_, 50)) randomOrders(p(), out_.schedule, random_);
    for (RegionSchedule& region : out_.schedule.regions) {
      if (chance(random_, 25) && !region.order.empty())
        region.parallel.emplace_back(
            region.order[static_cast<size_t>(pick(random_, static_cast<int64_t>(region.order.size())))],
            2 + static_cast<int>(pick(random_, 2)));
      if (chance(random_, 20)) region.iterate.push_back(p().tensors()[0].name);
    }
    out_.schedule.algebra = chance(random_, 50);
  }

  /// Loops over one variable of each region in blocks of any size.
  void blocks() {
    if (out_.schedule.regions.empty()) out_.schedule.regions.emplace_back();
    const Result<Partition> parts = partition(p(), out_.schedule);
    for (size_t r = 0; parts && r < parts->regions.size(); ++r) {
      auto* wish = const_cast<RegionSchedule*>(parts->schedules[r]);
      if (!wish) continue;
      const Region region = fuseRegion(p(), parts->regions[r]);
      std::vector<VarId> vars;
      for (size_t e = 0; e < region.program.exprCount(); ++e)
        if (const Expr& expr = region.program.expr(ExprId(e)); expr.kind == ExprKind::access)
          vars.insert(vars.end(), expr.vars.begin(), expr.vars.end());
      if (vars.empty()) continue;
      const VarId v = vars[static_cast<size_t>(pick(random_, static_cast<int64_t>(vars.size())))];
      wish->blocks.emplace_back(region.program.var(v).name, 1 + pick(random_, 5));
    }
  }

  /// Other orders as long as folds cannot be streamed in the one drawn; none where there seems to be none.
  void drawAgain() {
    for (int attempt = 0;; ++attempt) {
      const Result<Compiled> compiled = compile(p(), out_.schedule, &out_.inputs);
      if (compiled || compiled.error().code != "T0971") return;
      out_.refused.push_back(out_.schedule);
      if (attempt < 20) {
        randomOrders(p(), out_.schedule, random_);
        continue;
      }
      for (RegionSchedule& region : out_.schedule.regions) region.order.clear();
      return;
    }
  }

  Random random_;
  RandomCase out_;
};

}  // namespace

Bindings randomInputs(const Program& program, double density, std::mt19937_64& random) {
  Bindings out;
  std::uniform_real_distribution<double> value(-2, 2), share(0, 1);
  for (size_t t = 0; t < program.tensors().size(); ++t) {
    const TensorDecl& decl = program.tensors()[t];
    if (decl.role != Role::input) continue;
    const std::vector<int64_t> shape = program.shape(TensorId(t));
    const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    const Format format = decl.format.value_or(Format::dense(static_cast<int>(shape.size())));
    Entries entries{shape, {}, {}};
    for (int64_t flat = 0; flat < size; ++flat) {
      if (share(random) >= density) continue;
      std::vector<int32_t> at(shape.size());
      for (size_t axis = shape.size(), rest = static_cast<size_t>(flat); axis-- > 0;) {
        at[axis] = static_cast<int32_t>(rest % static_cast<size_t>(shape[axis]));
        rest /= static_cast<size_t>(shape[axis]);
      }
      entries.at.insert(entries.at.end(), at.begin(), at.end());
      entries.values.push_back(random() % 16 == 0 ? 0 : value(random));  // a stored zero now and then
    }
    out[decl.name] = *pack(entries, format, decl.dtype);
  }
  return out;
}

/// Variables at random, each once all that must be outside it are there.
static std::vector<VarId> randomOrder(const OrderProblem& problem, bool bound, std::mt19937_64& random) {
  std::vector<VarId> left = problem.vars, out;
  while (!left.empty()) {
    std::vector<VarId> free = left;
    if (bound)
      std::erase_if(free, [&](VarId v) {
        return std::any_of(problem.edges.begin(), problem.edges.end(), [&](const OrderEdge& e) {
          return !e.access && e.after == v && std::find(left.begin(), left.end(), e.before) != left.end();
        });
      });
    out.push_back(free[static_cast<size_t>(pick(random, static_cast<int64_t>(free.size())))]);
    std::erase(left, out.back());
  }
  return out;
}

void randomOrders(const Program& program, Schedule& schedule, std::mt19937_64& random, bool foldsInside) {
  if (schedule.fuse == Schedule::Fuse::all && schedule.regions.empty()) schedule.regions.emplace_back();
  const Result<Partition> parts = partition(program, schedule);
  if (!parts) return;
  for (size_t r = 0; r < parts->regions.size(); ++r) {
    auto* wish = const_cast<RegionSchedule*>(parts->schedules[r]);
    if (!wish) continue;
    const Result<Region> region = splitBlocks(fuseRegion(program, parts->regions[r]), wish->blocks);
    if (!region || region->program.statements().empty()) continue;
    const Result<OrderProblem> problem =
        orderProblem(*region, {.foldsInside = foldsInside}, [](TensorId) { return 1.0; });
    if (!problem) continue;
    wish->order.clear();
    for (const VarId v : randomOrder(*problem, foldsInside, random)) wish->order.push_back(region->program.var(v).name);
  }
}

RandomCase randomCase(uint64_t seed) { return Generator(seed).run(); }

std::string RandomCase::str() const {
  std::string out = print(program) + "\n" + print(schedule);
  for (const auto& [name, tensor] : inputs) {
    out += fmt::format("{} =", name);
    const Entries entries = unpack(tensor);
    const int rank = entries.rank();
    for (int64_t e = 0; e < entries.count(); ++e) {
      out += " (";
      for (int axis = 0; axis < rank; ++axis)
        out += fmt::format("{} ", entries.at[static_cast<size_t>(e * rank + axis)]);
      out += fmt::format(": {:.17g})", entries.values[static_cast<size_t>(e)]);
    }
    out += "\n";
  }
  return out;
}

}  // namespace tokamak::sparse
