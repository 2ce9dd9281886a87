#include "sparse/lower/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "sparse/lower/region_compiler.h"
#include "sparse/order/order.h"
#include "sparse/table/split.h"

namespace tokamak::sparse {

namespace {

/// Whether a tensor's stored entries say where something is done: then blocks, which store more, would change that.
bool isPattern(const Program& program, TensorId tensor) {
  for (size_t e = 0; e < program.exprCount(); ++e) {
    const Expr& expr = program.expr(ExprId(e));
    const auto names = [&](ExprId arg) { return program.expr(arg).tensor == tensor; };
    if (expr.kind == ExprKind::where && names(expr.args[0])) return true;
    if (expr.kind == ExprKind::reduce && std::any_of(expr.args.begin() + 1, expr.args.end(), names)) return true;
  }
  return false;
}

Result<> chooseBlocks(Program& program, const Schedule& schedule) {
  for (const auto& [name, sizes] : schedule.blocks) {
    const TensorId id = program.findTensor(name);
    if (isPattern(program, id))
      return Diagnostic{"T0974", schedule.location,
                        fmt::format("{} says where something is done, which blocks would change", name),
                        "declare its blocks where it is declared"};
    program.tensors()[id.index].format = namedFormat("bcsr", 2, sizes);
  }
  return Unit{};
}

Result<> chooseFormats(Program& program, const Schedule& schedule) {
  for (const auto& [name, format] : schedule.formats) {
    TensorDecl& decl = program.tensors()[program.findTensor(name).index];
    if (decl.role == Role::input)
      return Diagnostic{"T0974", schedule.location, fmt::format("{} is an input: its data have a format", name),
                        "change its declaration"};
    decl.format = format;
  }
  for (TensorDecl& decl : program.tensors())
    if (!decl.format && decl.role != Role::temp) decl.format = Format::dense(static_cast<int>(decl.dims.size()));
  return Unit{};
}

void rewrite(Compiled& out, const Schedule& schedule, const Bindings* data) {
  std::map<std::string, double> densities;
  if (data)
    for (const auto& [name, tensor] : *data) densities[name] = RegionCompiler::shareOf(tensor);
  std::map<std::string, int> groups;
  for (size_t r = 0; r < schedule.regions.size() && !schedule.algebraEverywhere; ++r)
    for (const std::string& tensor : schedule.regions[r].tensors) groups[tensor] = static_cast<int>(r);
  out.rewrittenWhole = groups.empty();
  for (const std::string& tensor : schedule.spill) groups[tensor] = -2;  // stays what it is
  AlgebraResult result = rewriteAlgebra(out.program, densities, groups);
  out.program = std::move(result.program);
  out.algebra = std::move(result.ledger);
}

/// The names of a region's variables, loops in blocks as two.
std::set<std::string> variablesOf(const Program& program, const std::vector<size_t>& statements,
                                  const RegionSchedule& wish) {
  std::set<std::string> out;
  const Result<Region> region = splitBlocks(fuseRegion(program, statements), wish.blocks);
  if (!region) return out;
  const Result<OrderProblem> problem = orderProblem(*region, {}, [](TensorId) { return 1.0; });
  for (const VarId v : problem->vars) out.insert(region->program.var(v).name);
  return out;
}

/// The wish without variables that the region had as it was written and that the algebra has rewritten away: which they
/// are depends on the data, and a schedule is to hold for other data too.
RegionSchedule withoutRewritten(const Program& written, const Program& rewritten, const std::vector<size_t>& statements,
                                RegionSchedule wish, std::vector<std::string>& notes) {
  std::map<std::string, bool> isHere;  // of the tensors that are still computed
  for (const Statement& s : rewritten.statements()) isHere[rewritten.tensor(s.tensor).name] = false;
  for (const size_t s : statements) isHere[rewritten.tensor(rewritten.statements()[s].tensor).name] = true;
  std::vector<size_t> before;
  for (size_t s = 0; s < written.statements().size(); ++s) {
    const auto found = isHere.find(written.tensor(written.statements()[s].tensor).name);
    if (found == isHere.end() || found->second) before.push_back(s);
  }
  const auto isNamed = [](const std::string& name) { return [&](const auto& said) { return said.first == name; }; };
  const RegionSchedule asWritten = wish;
  // Blocks first: without them the rest can be split.
  for (const bool blocks : {true, false}) {
    const RegionSchedule none;
    const std::set<std::string> now = variablesOf(rewritten, statements, blocks ? none : wish);
    for (const std::string& name : variablesOf(written, before, blocks ? none : asWritten)) {
      if (now.contains(name)) continue;
      const size_t named = blocks ? std::erase_if(wish.blocks, isNamed(name))
                                  : std::erase(wish.order, name) + std::erase_if(wish.parallel, isNamed(name));
      if (named > 0) notes.push_back(fmt::format("{} is not looped over: the algebra has rewritten it away", name));
    }
  }
  return wish;
}

/// A region as its schedule has it; where that names what the algebra has rewritten away, without those names.
Result<std::optional<CompiledRegion>> compileAsWished(const Program& written, const Compiled& out,
                                                      const std::vector<size_t>& statements, const RegionSchedule* wish,
                                                      RegionCompiler& compiler) {
  const RegionSchedule none;
  Result<std::optional<CompiledRegion>> region = compiler.compile(statements, wish ? wish : &none);
  const bool unnamed = !region && (region.error().code == "T0970" || region.error().code == "T0972");
  if (!unnamed || !wish || out.algebra.empty()) return region;
  std::vector<std::string> notes;
  const RegionSchedule adapted = withoutRewritten(written, out.program, statements, *wish, notes);
  if (notes.empty()) return region;
  region = compiler.compile(statements, &adapted);
  if (region && *region) (*region)->notes.insert((*region)->notes.end(), notes.begin(), notes.end());
  return region;
}

/// The schedule without the tensors that the algebra has rewritten away, for the same reason.
Schedule withoutRewritten(const Program& written, const Program& rewritten, Schedule schedule) {
  std::set<std::string> gone;
  for (const Statement& s : written.statements()) gone.insert(written.tensor(s.tensor).name);
  for (const Statement& s : rewritten.statements()) gone.erase(rewritten.tensor(s.tensor).name);
  const auto isGone = [&](const std::string& name) { return gone.contains(name); };
  std::erase_if(schedule.spill, isGone);
  std::erase_if(schedule.regions, [&](RegionSchedule& region) {
    return std::erase_if(region.tensors, isGone) > 0 && region.tensors.empty();
  });
  return schedule;
}

}  // namespace

Result<Compiled> compile(const Program& program, const Schedule& schedule, const Bindings* data) {
  Compiled out{.program = program};
  TK_RETURN_IF_ERROR(chooseBlocks(out.program, schedule));
  TK_RETURN_IF_ERROR(chooseFormats(out.program, schedule));
  if (schedule.algebra) rewrite(out, schedule, data);
  RegionCompiler compiler(out.program, data, schedule.exchange);
  if (schedule.fuse == Schedule::Fuse::automatic) {
    TK_TRY(out.regions, fuseAutomatically(out.program, compiler));
    return out;
  }
  const Schedule adapted = withoutRewritten(program, out.program, schedule);
  TK_TRY(const Partition parts, partition(out.program, adapted));
  std::vector<double> alone;
  for (size_t r = 0; r < parts.regions.size(); ++r) {
    if (schedule.cut && parts.regions[r].size() > 1 && !(parts.schedules[r] && parts.schedules[r]->fixesLoops())) {
      if (alone.empty()) { TK_TRY(alone, workAlone(out.program, data)); }
      TK_RETURN_IF_ERROR(compileInRuns(parts.regions[r], alone, compiler, out.regions));
      continue;
    }
    TK_TRY(std::optional<CompiledRegion> region,
           compileAsWished(program, out, parts.regions[r], parts.schedules[r], compiler));
    if (!region) continue;  // nobody needs it
    compiler.accept(*region);
    out.regions.push_back(std::move(*region));
  }
  return out;
}

Schedule unfused() { return {.name = "unfused"}; }

Schedule automatic() { return {.name = "auto", .fuse = Schedule::Fuse::automatic}; }

Schedule scheduleOf(const Compiled& compiled, const std::string& name) {
  Schedule out{.name = name};
  out.algebraEverywhere = compiled.rewrittenWhole && !compiled.algebra.empty();
  for (const CompiledRegion& region : compiled.regions) {
    RegionSchedule wish;
    for (const size_t s : region.region.statements)
      wish.tensors.push_back(compiled.program.tensor(compiled.program.statements()[s].tensor).name);
    wish.order = region.table.rows;
    for (const auto& [var, lanes] : region.options.lanes)
      wish.parallel.emplace_back(region.region.program.var(var).name, lanes);
    wish.blocks = region.blocks;
    wish.iterate.assign(region.options.iterate.begin(), region.options.iterate.end());
    out.regions.push_back(std::move(wish));
  }
  return out;
}

}  // namespace tokamak::sparse
