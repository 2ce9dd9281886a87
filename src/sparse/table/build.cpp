#include "sparse/table/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sparse/table/loops.h"

namespace tokamak::sparse {

Format walkedFormat(const Format& format) {
  Format out = format;
  for (Level& level : out.levels) {
    if (level.kind == LevelKind::singleton) level.kind = LevelKind::compressed;
    level.unique = true;
  }
  return out;
}

TableBuilder::TableBuilder(const Region& region, const TableOptions& options, Table& table)
    : region_(region), program_(region.program), options_(options), table_(table), emit_(table) {
  ranks_.assign(program_.varCount(), 0);
  for (size_t i = 0; i < options.order.size(); ++i) {
    ranks_[options.order[i].index] = static_cast<int>(i);
    table.rows.push_back(program_.var(options.order[i]).name);
  }
}

Result<> TableBuilder::run() {
  for (const Statement& s : program_.statements()) TK_RETURN_IF_ERROR(statement(s));
  return checkLanes();
}

Result<> TableBuilder::statement(const Statement& statement) {
  const TensorDecl& decl = program_.tensor(statement.tensor);
  statementColumn_ = table_.column(decl.name);
  const Scope& top = newScope();
  const std::vector<VarId> vars = sorted(statement.vars, top);
  TK_TRY(const Bundle bundle, iterate({statement.value}, vars, top, {}));
  TableTensor result{decl.name, TableSource::result, decl.name, {}, {}};
  for (const LoopLevel& level : bundle.levels) {
    const auto axis = std::find(statement.vars.begin(), statement.vars.end(), level.var) - statement.vars.begin();
    result.format.levels.push_back({level.all ? LevelKind::dense : LevelKind::compressed, static_cast<int>(axis)});
    result.sizes.push_back(program_.size(level.var));
  }
  result.format = region_.wholeFormat(statement.tensor, result.format);
  table_.tensors.push_back(std::move(result));
  std::vector<Port> crds;
  for (const LoopLevel& level : bundle.levels) crds.push_back(level.crd);
  Port val = bundle.val;
  dropEmptyFibers(statement, bundle, crds, val);
  emit_.rule("results are stored level by level");
  for (size_t l = 0; l < crds.size(); ++l) {
    emit_.at(rank(bundle.levels[l].var), statementColumn_);
    emit_.write(decl.name, static_cast<int>(l), crds[l]);
  }
  emit_.at(static_cast<int>(table_.rows.size()), statementColumn_);
  emit_.write(decl.name, static_cast<int>(crds.size()), val);
  return Unit{};
}

/// Where the result's format stores only coordinates that are there, rows whose fiber turned out empty go.
void TableBuilder::dropEmptyFibers(const Statement& statement, const Bundle& bundle, std::vector<Port>& crds,
                                   Port& val) {
  const TensorDecl& decl = program_.tensor(statement.tensor);
  if (crds.size() < 2 || !decl.format) return;
  const size_t outer = crds.size() - 2;
  const auto axis =
      std::find(statement.vars.begin(), statement.vars.end(), bundle.levels[outer].var) - statement.vars.begin();
  const bool compressed = std::any_of(decl.format->levels.begin(), decl.format->levels.end(), [&](const Level& level) {
    return level.axis == static_cast<int>(axis) && level.kind != LevelKind::dense;
  });
  if (!compressed || isNeverEmpty(crds[outer + 1])) return;
  emit_.at(rank(bundle.levels[outer].var), statementColumn_);
  emit_.rule("a compressed result keeps no empty fibers");
  const Port all = crds[outer];
  const Emitter::Fiber kept = emit_.drop(all, crds[outer + 1]);
  val = emit_.drop(all, val).ref;
  crds[outer] = kept.crd;
  crds[outer + 1] = kept.ref;
}

/// Whether every fiber of a stream is known to hold something: walks below a compressed level do, and their unions.
bool TableBuilder::isNeverEmpty(Port crd) const {
  const Cell& cell = table_.cell(crd.cell);
  if (cell.kind == CellKind::unite) {
    for (size_t i = 0; i < cell.inputs.size(); i += 2)
      if (!isNeverEmpty(cell.inputs[i])) return false;
    return true;
  }
  if (cell.kind != CellKind::scan || cell.level == 0) return false;
  const TableTensor& tensor = *table_.tensor(cell.tensor);
  return tensor.format.levels[static_cast<size_t>(cell.level) - 1].kind != LevelKind::dense;
}

/// `vars` are not bound yet and sorted. The value is that of the first root; the others only say what is visited.
Result<Bundle> TableBuilder::iterate(const std::vector<ExprId>& roots, const std::vector<VarId>& vars,
                                     const Scope& scope, const Demand& demand) {
  if (vars.empty()) {
    TK_TRY(Bundle value, valueAt(roots[0], scope));
    if (value.number) value = {{}, numberStream(*value.number, scope, roots), {}};
    return value;
  }
  TK_TRY(const Scope* inside, enter(roots, vars[0], scope, demand));
  const std::vector<VarId> rest(vars.begin() + 1, vars.end());
  const int lanes = lanesOf(*inside);
  TK_TRY(Bundle out, lanes > 1 ? inLanes(roots, rest, *inside, demand, lanes) : iterate(roots, rest, *inside, demand));
  out.levels.insert(out.levels.begin(), {vars[0], inside->crd, inside->all});
  return out;
}

/// A loop that passes a computed operand of several levels on has one lane: what computed it has run in several.
int TableBuilder::lanesOf(const Scope& scope) {
  const auto lanes = options_.lanes.find(scope.var);
  if (lanes == options_.lanes.end() || lanes->second < 2) return 1;
  if (std::any_of(scope.results.begin(), scope.results.end(),
                  [](const auto& result) { return !result.second.levels.empty(); }))
    return 1;
  inLanes_.insert(scope.var);
  return lanes->second;
}

/// T0972 where every loop over a variable that is to have lanes only passes computed operands on.
Result<> TableBuilder::checkLanes() const {
  for (const auto& [var, lanes] : options_.lanes)
    if (lanes > 1 && !inLanes_.contains(var))
      return Diagnostic{
          "T0972",
          {},
          fmt::format("lanes along {} would share out a computed operand of several levels", program_.var(var).name),
          "run another variable in parallel, or choose another order"};
  return Unit{};
}

Result<Bundle> TableBuilder::inLanes(const std::vector<ExprId>& roots, const std::vector<VarId>& vars,
                                     const Scope& scope, const Demand& demand, int lanes) {
  const std::string& name = program_.var(scope.var).name;
  emit_.rule(fmt::format("{} runs in {} lanes", name, lanes));
  emit_.at(rank(scope.var), statementColumn_);
  std::vector<Scope*> inside;
  for (int lane = 0; lane < lanes; ++lane) inside.push_back(&newScope());
  const auto share = [&](Port port, const auto& keep) {
    const std::vector<Port> ports = emit_.fork(port, lanes);
    for (int lane = 0; lane < lanes; ++lane) keep(*inside[static_cast<size_t>(lane)], ports[static_cast<size_t>(lane)]);
  };
  share(scope.crd,
        [&](Scope& s, Port p) { s.parent = scope.parent, s.var = scope.var, s.depth = scope.depth, s.crd = p; });
  for (const auto& [id, walk] : scope.walks)
    share(walk.ref, [&](Scope& s, Port p) { s.walks[id] = {p, walk.absent, walk.levels}; });
  for (const auto& [id, result] : scope.results)
    share(result.val, [&](Scope& s, Port p) { s.results[id] = {{}, p, {}}; });
  std::vector<Bundle> results;
  for (const Scope* lane : inside) {
    TK_TRY(Bundle result, iterate(roots, vars, *lane, demand));
    results.push_back(std::move(result));
  }
  emit_.rule(fmt::format("the lanes of {} come together", name));
  Bundle out = results[0];
  const auto joined = [&](int depth, const auto& get) {
    std::vector<Port> ports;
    for (const Bundle& b : results) ports.push_back(get(b));
    return emit_.join(ports, depth);
  };
  for (size_t l = 0; l < out.levels.size(); ++l) {
    emit_.at(rank(out.levels[l].var), statementColumn_);
    out.levels[l].crd = joined(static_cast<int>(l) + 1, [&](const Bundle& b) { return b.levels[l].crd; });
  }
  emit_.at(static_cast<int>(table_.rows.size()), statementColumn_);
  out.val = joined(static_cast<int>(out.levels.size()), [](const Bundle& b) { return b.val; });
  return out;
}

Result<Bundle> TableBuilder::fold(ExprId id, const Scope& scope) {
  if (const auto known = folds_.find({id, &scope}); known != folds_.end()) return known->second;
  const Expr& e = program_.expr(id);
  Demand demand{{e.args.begin() + 1, e.args.end()}, e.fold, e.vars};
  std::vector<VarId> vars = e.vars;
  vars.insert(vars.end(), program_.freeVars(id).begin(), program_.freeVars(id).end());
  TK_TRY(Bundle out, iterate(e.args, sorted(std::move(vars), scope), scope, demand));
  out = foldOut(std::move(out), e);
  folds_[{id, &scope}] = out;
  return out;
}

/// Folds the variables of `e` away, innermost first.
Bundle TableBuilder::foldOut(Bundle bundle, const Expr& e) {
  for (size_t l = bundle.levels.size(); l-- > 0;) {
    const VarId v = bundle.levels[l].var;
    if (std::find(e.vars.begin(), e.vars.end(), v) == e.vars.end()) continue;
    const size_t inner = bundle.levels.size() - 1 - l;
    emit_.at(rank(v), statementColumn_);
    if (inner == 0) {
      emit_.rule(fmt::format("{} is the innermost loop: a scalar reduce", program_.var(v).name));
      bundle.val = emit_.reduce(e.fold, bundle.val);
    } else {
      emit_.rule(fmt::format("{} has {} loops inside it: a spacc of that order", program_.var(v).name, inner));
      std::vector<Port> crds;
      for (size_t i = l; i < bundle.levels.size(); ++i) crds.push_back(bundle.levels[i].crd);
      const std::vector<Port> out = emit_.spacc(e.fold, crds, bundle.val);
      for (size_t i = 0; i < inner; ++i) bundle.levels[l + 1 + i].crd = out[i];
      bundle.val = out[inner];
    }
    bundle.levels.erase(bundle.levels.begin() + static_cast<int64_t>(l));
  }
  return bundle;
}

std::vector<VarId> TableBuilder::sorted(std::vector<VarId> vars, const Scope& scope) const {
  std::erase_if(vars, [&](VarId v) { return scope.binds(v); });
  std::sort(vars.begin(), vars.end(), [&](VarId a, VarId b) { return rank(a) < rank(b); });
  return vars;
}

bool TableBuilder::isFree(VarId v, ExprId id) const {
  return std::binary_search(program_.freeVars(id).begin(), program_.freeVars(id).end(), v);
}

bool TableBuilder::hasAllBound(ExprId id, const Scope& scope) const {
  return std::all_of(program_.freeVars(id).begin(), program_.freeVars(id).end(),
                     [&](VarId v) { return scope.binds(v); });
}

const Format& TableBuilder::formatOf(ExprId access) {
  const auto [known, added] = formats_.try_emplace(access);
  if (added) {
    const Expr& e = program_.expr(access);
    const TensorDecl& decl = program_.tensor(e.tensor);
    const auto view = options_.views.find(access);
    const Format own = decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size())));
    known->second = walkedFormat(view != options_.views.end() ? view->second : own);
  }
  return known->second;
}

std::vector<VarId> TableBuilder::levelVars(ExprId access) {
  std::vector<VarId> out;
  for (const Level& level : formatOf(access).levels)
    out.push_back(program_.expr(access).vars[static_cast<size_t>(level.axis)]);
  return out;
}

const std::string& TableBuilder::tensorOf(ExprId access) {
  const auto [known, added] = tensorNames_.try_emplace(access);
  if (!added) return known->second;
  const TensorDecl& decl = program_.tensor(program_.expr(access).tensor);
  const Format& format = formatOf(access);
  const Format own = walkedFormat(decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size()))));
  known->second = decl.name;
  if (format != own) {
    known->second += ".";
    for (const Level& level : format.levels) known->second += fmt::format("{}", level.axis);
  }
  const TensorId id = program_.expr(access).tensor;
  if (const auto parts = region_.parts.find(id); parts != region_.parts.end())
    for (const Region::AxisPart& part : parts->second)
      if (part.part == LevelPart::outer) known->second += fmt::format(".b{}x{}", part.axis, part.block);
  if (!table_.tensor(known->second)) {
    TableTensor tensor{known->second, TableSource::data, decl.name, region_.wholeFormat(id, format), {}};
    if (const auto range = region_.ranges.find(id); range != region_.ranges.end()) {
      tensor.source = TableSource::range;
      tensor.of = fmt::to_string(range->second);
    }
    for (const Level& level : format.levels)
      tensor.sizes.push_back(program_.dim(decl.dims[static_cast<size_t>(level.axis)]).size);
    table_.tensors.push_back(std::move(tensor));
  }
  return known->second;
}

std::string TableBuilder::onesOf(const std::string& tensor) {
  if (table_.tensor(tensor)->source == TableSource::range) return tensor;
  std::string name = tensor + ".ones";
  if (!table_.tensor(name)) {
    TableTensor ones = *table_.tensor(tensor);
    ones.name = name;
    ones.source = TableSource::ones;
    table_.tensors.push_back(std::move(ones));
  }
  return name;
}

std::string TableBuilder::rangeOf(DimId dim) {
  std::string name = dim ? program_.dim(dim).name + ".range" : "one.range";
  const int64_t size = dim ? program_.dim(dim).size : 1;
  if (!table_.tensor(name))
    table_.tensors.push_back({name, TableSource::range, fmt::to_string(size), Format::dense(1), {size}});
  return name;
}

int TableBuilder::columnOf(ExprId id) {
  if (program_.expr(id).kind != ExprKind::access) return statementColumn_;
  const auto [known, added] = columns_.try_emplace(id, 0);
  if (added) known->second = table_.column(print(program_, id));
  return known->second;
}

void TableBuilder::place(VarId row, ExprId column, std::string rule) {
  emit_.at(rank(row), columnOf(column));
  emit_.rule(std::move(rule));
}

void TableBuilder::placeValue(ExprId column, std::string rule) {
  emit_.at(static_cast<int>(table_.rows.size()), columnOf(column));
  emit_.rule(std::move(rule));
}

Result<Table> buildTable(const Region& region, const TableOptions& options) {
  Table out;
  std::string name;
  for (const Statement& s : region.program.statements())
    name += (name.empty() ? "" : "_") + region.program.tensor(s.tensor).name;
  out.name = name;
  TK_RETURN_IF_ERROR(TableBuilder(region, options, out).run());
  return out;
}

}  // namespace tokamak::sparse
