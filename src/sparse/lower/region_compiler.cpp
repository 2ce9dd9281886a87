#include "sparse/lower/region_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sparse/cost/count.h"
#include "sparse/lower/to_stream.h"
#include "sparse/stream/sam.h"
#include "sparse/table/split.h"

namespace tokamak::sparse {

namespace {

constexpr int kOrdersACount = 3, kMostCounts = 8;  // of the orders that are compared, one in so many is counted
constexpr double kBytesAnEntry = 8;                // a coordinate and a value

/// First the orders that storage allows; then more and more of the last result's variables outermost, with copies of
/// what contradicts that: folds inside are easiest to fuse. Last, for what no other order can run, every fold inside;
/// for regions that nobody asked for, not running is an answer too.
static std::vector<OrderWish> wishes(const Region& region, const std::vector<std::string>& order, bool asked) {
  std::vector<OrderWish> out = {{order}};
  if (!order.empty()) return out;
  OrderWish outer{{}, true};
  for (const VarId v : region.program.statements().back().vars) {
    outer.vars.push_back(region.program.var(v).name);
    out.push_back(outer);
  }
  if (asked || region.statements.size() < 2) out.push_back({.foldsInside = true});
  return out;
}

static Result<> lanes(const Program& program, const OrderProblem& problem, const RegionSchedule& wish,
                      TableOptions& options) {
  for (const auto& [name, count] : wish.parallel) {
    const auto found =
        std::find_if(problem.vars.begin(), problem.vars.end(), [&](VarId v) { return program.var(v).name == name; });
    if (found == problem.vars.end())
      return Diagnostic{"T0972", wish.location, fmt::format("{} is no index variable of the region", name),
                        "tokamak sparse explain lists them"};
    options.lanes[*found] = count;
  }
  return Unit{};
}

/// The diagnostic at the place of the schedule, or of the statement where there is no schedule.
static Diagnostic placed(Diagnostic error, const RegionSchedule& wish, const Region& region) {
  if (error.location.line == 0)
    error.location = wish.location.line != 0 ? wish.location : region.program.statements().back().location;
  return error;
}

/// Loops over nothing have vanished from a region; a schedule that is right for other sizes may still name them.
static RegionSchedule withoutEmptyLoops(const Program& program, RegionSchedule wish) {
  for (size_t v = 0; v < program.varCount(); ++v) {
    const std::string& name = program.var(VarId(v)).name;
    if (program.size(VarId(v)) != 0) continue;
    std::erase(wish.order, name);
    std::erase_if(wish.parallel, [&](const auto& lanes) { return lanes.first == name; });
  }
  return wish;
}

/// A variable that blocks have split may be named as a whole: its two loops one inside the other, lanes at the outer.
static RegionSchedule inBlocks(const Program& program, RegionSchedule wish) {
  std::set<std::string> names;
  for (size_t v = 0; v < program.varCount(); ++v) names.insert(program.var(VarId(v)).name);
  const auto isSplit = [&](const std::string& name) {
    return !names.contains(name) && names.contains(name + "_o") && names.contains(name + "_i");
  };
  std::vector<std::string> order;
  for (const std::string& name : wish.order) {
    order.push_back(isSplit(name) ? name + "_o" : name);
    if (isSplit(name)) order.push_back(name + "_i");
  }
  wish.order = std::move(order);
  for (auto& [name, lanes] : wish.parallel)
    if (isSplit(name)) name += "_o";
  return wish;
}

}  // namespace

RegionCompiler::RegionCompiler(Program& program, const Bindings* data, bool exchange)
    : program_(program), data_(data), exchange_(exchange), readers_(readersOf(program)) {
  for (const TensorDecl& decl : program.tensors()) declared_.push_back(decl.format.has_value());
  if (data && Structures::areQuick(*data)) structures_.emplace(*data);
}

Result<std::optional<CompiledRegion>> RegionCompiler::compile(const std::vector<size_t>& statements,
                                                              const RegionSchedule* wish, int orders) {
  Region fused = fuseRegion(program_, statements, readers_);
  if (fused.program.statements().empty()) return std::optional<CompiledRegion>();
  const RegionSchedule wished = wish ? withoutEmptyLoops(program_, *wish) : RegionSchedule{};
  Result<CompiledRegion> out = compileFused(fused, wished, orders, wish != nullptr);
  if (!out && (wish || statements.size() < 2))
    if (std::optional<Program> apart = foldsApart(fused.program)) {
      fused.program = std::move(*apart);
      fused.notes.push_back("folds that contradict each other have loops of their own");
      if (Result<CompiledRegion> again = compileFused(fused, wished, orders, true)) out = std::move(again);
    }
  if (!out) return out.error();
  return std::optional(std::move(*out));
}

Result<CompiledRegion> RegionCompiler::compileFused(const Region& fused, const RegionSchedule& wished, int orders,
                                                    bool asked) {
  Result<Region> split = splitBlocks(fused, wished.blocks);
  if (!split) return placed(split.error(), wished, fused);
  const RegionSchedule named = inBlocks(split->program, wished);
  TK_TRY(CompiledRegion out, compileRegion(std::move(*split), named, orders, asked));
  out.blocks = wished.blocks;
  return out;
}

void RegionCompiler::accept(const CompiledRegion& region) {
  keepFormats(region);
  keepStatistics(region);
}

void RegionCompiler::Candidates::add(Candidate candidate) {
  ++seen;
  const auto cheaper = [](const Candidate& a, const Candidate& b) {
    return a.cost() != b.cost() ? a.cost() < b.cost() : a.estimate.tokens < b.estimate.tokens;
  };
  best.insert(std::upper_bound(best.begin(), best.end(), candidate, cheaper), std::move(candidate));
  if (best.size() > keep) best.pop_back();
}

/// Orders that storage allows come first; one that needs more copies than they do is taken where it saves more than the
/// copies cost, which is where the fused loops would compute something again and again.
Result<CompiledRegion> RegionCompiler::compileRegion(Region fused, const RegionSchedule& wish, int orders, bool asked) {
  CompiledRegion out;
  out.region = std::move(fused);
  const Nests nests(out.region.program);
  Candidates found{.keep = structures_ ? static_cast<size_t>(std::clamp(orders / kOrdersACount, 1, kMostCounts)) : 1};
  for (const OrderWish& wished : wishes(out.region, wish.order, asked)) {
    if (wished.foldsInside && found.seen > 0) break;
    TK_RETURN_IF_ERROR(tryOrders(out.region, nests, wished, wish, found.seen == 0 ? orders : orders / 3 + 1, found));
    if (found.seen > 0 && out.region.statements.size() < 2) break;
  }
  if (found.best.empty()) return placed(*found.refusal, wish, out.region);
  countOnData(found);
  Candidate& chosen = found.best.front();
  out.table = std::move(chosen.table);
  out.options = std::move(chosen.options);
  out.estimate = chosen.estimate;
  out.notes = std::move(chosen.notes);
  out.ordersSeen = found.seen;
  if (found.refusal) out.notes.push_back(fmt::format("other orders could not run: {}", found.refusal->message));
  TK_TRY(out.graph, toStream(out.table));
  return out;
}

Result<Table> RegionCompiler::tableFor(const Region& region, const TableOptions& options) const {
  TK_TRY(Table table, buildTable(region, options));
  if (!exchange_) return table;
  TK_TRY(const stream::Graph graph, toStream(table));
  TK_RETURN_IF_ERROR(stream::writeSam(graph));
  return table;
}

Result<> RegionCompiler::tryOrders(const Region& region, const Nests& nests, const OrderWish& wished,
                                   const RegionSchedule& wish, int orders, Candidates& out) {
  const auto bytes = [&](TensorId t) { return bytesOf(region.program, t); };
  const Result<OrderProblem> problem = orderProblem(region, wished, bytes);
  if (!problem) return placed(problem.error(), wish, region);
  Candidate pattern;
  pattern.notes = region.notes;
  pattern.options.iterate.insert(wish.iterate.begin(), wish.iterate.end());
  TK_RETURN_IF_ERROR(lanes(region.program, *problem, wish, pattern.options));
  for (const ExprId access : problem->copied) {
    pattern.notes.push_back(
        fmt::format("{} contradicts the order of the others: a permuted copy is read", print(region.program, access)));
    if (out.seen > 0) pattern.copies += bytes(region.program.expr(access).tensor) / kBytesAnEntry;
  }
  int tried = 0;
  std::map<Nests::Key, bool> runs;  // of the orders tried, whether they can run
  problem->forEachOrder([&](const std::vector<VarId>& order) {
    const auto [known, added] = runs.try_emplace(nests.keyOf(order), false);
    if (!added) {
      out.seen += known->second ? 1 : 0;
      return ++tried < orders;
    }
    Candidate candidate = pattern;
    candidate.options.order = order;
    candidate.options.views = copiedViews(region, *problem, order);
    Result<Table> table = tableFor(region, candidate.options);
    if (table) {
      candidate.estimate = estimate(*table, statistics(*table));
      candidate.table = std::move(*table);
      out.add(std::move(candidate));
      known->second = true;
    } else if (!out.refusal) {
      out.refusal = table.error();
    }
    return ++tried < orders;
  });
  return Unit{};
}

/// Puts the candidate first that the counting model finds cheapest on the data's own structure.
void RegionCompiler::countOnData(Candidates& candidates) {
  if (!structures_) return;
  for (const Candidate& c : candidates.best)
    if (!structures_->has(c.table)) return;
  for (Candidate& c : candidates.best)
    c.estimate = count(c.table, [&](const TableTensor& t) { return structures_->of(t); });
  std::stable_sort(candidates.best.begin(), candidates.best.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost() < b.cost(); });
}

std::map<std::string, LevelStatistics> RegionCompiler::statistics(const Table& table) {
  std::map<std::string, LevelStatistics> out;
  for (const TableTensor& tensor : table.tensors)
    if (tensor.source == TableSource::data || tensor.source == TableSource::ones)
      out[tensor.name] = statisticsFor(tensor);
  return out;
}

LevelStatistics RegionCompiler::statisticsFor(const TableTensor& tensor) {
  const auto [known, added] = known_.try_emplace(tensor.of);
  if (added && data_)
    if (const auto data = data_->find(tensor.of); data != data_->end())
      known->second = {data->second.format, statisticsOf(data->second), shareOf(data->second)};
  if (known->second.format == tensor.format) return known->second.levels;
  return assumedStatistics(tensor.format, tensor.sizes, tensor.format.isDense() ? 1 : known->second.density);
}

double RegionCompiler::shareOf(const Tensor& tensor) {
  double size = 1;
  for (const int64_t extent : tensor.shape) size *= static_cast<double>(extent);
  return size > 0 ? std::min(1.0, static_cast<double>(tensor.stored()) / size) : 0;
}

Format storedFormat(const Table& table, const std::string& name, int rank) {
  Format out = table.tensor(name)->format;
  if (!out.levels.empty()) out.levels[0].kind = LevelKind::dense;
  return out.isWellFormed() ? out : Format::dense(rank);
}

void RegionCompiler::keepFormats(const CompiledRegion& region) {
  for (const Statement& statement : region.region.program.statements()) {
    const std::string& name = region.region.program.tensor(statement.tensor).name;
    const TensorId id = program_.findTensor(name);
    if (declared_[id.index]) continue;
    TensorDecl& decl = program_.tensors()[id.index];
    decl.format = storedFormat(region.table, name, static_cast<int>(decl.dims.size()));
  }
}

/// What a region is expected to write, for the regions that read it.
void RegionCompiler::keepStatistics(const CompiledRegion& region) {
  std::vector<std::vector<StreamEstimate>> streams;
  estimate(region.table, statistics(region.table), &streams);
  std::map<std::string, std::vector<double>> written;
  for (const Cell& cell : region.table.cells())
    if (cell.kind == CellKind::write) {
      const Port from = cell.inputs[0];
      written[cell.tensor].push_back(streams[from.cell.index][static_cast<size_t>(from.index)].elements);
    }
  for (const auto& [name, elements] : written) {
    const TableTensor& result = *region.table.tensor(name);
    const Format& stored = *program_.tensor(program_.findTensor(name)).format;
    Known known{result.format, {}, 1};
    double size = 1, above = 1;
    for (size_t l = 0; l < result.sizes.size(); ++l) {
      const auto extent = static_cast<double>(std::max<int64_t>(1, result.sizes[l]));
      if (l == 0 && stored.levels[0].axis == result.format.levels[0].axis) known.format.levels[0] = stored.levels[0];
      const bool dense = known.format.levels[l].kind == LevelKind::dense;
      known.levels.fanout.push_back(dense ? extent : elements[l] / std::max(1.0, above));
      above = dense ? above * extent : elements[l];
      size *= extent;
    }
    known.density = std::min(1.0, elements.back() / size);
    if (structures_) {
      const std::vector<int64_t> shape = program_.shape(program_.findTensor(name));
      std::vector<int64_t> sizes;
      for (const Level& level : stored.levels) sizes.push_back(level.sizeFor(shape[static_cast<size_t>(level.axis)]));
      structures_->keep(name, region.table, shape, stored,
                        known.format == stored ? known.levels : assumedStatistics(stored, sizes, known.density));
    }
    known_[name] = std::move(known);
  }
}

double RegionCompiler::bytesOf(const Program& program, TensorId id) const {
  if (data_)
    if (const auto found = data_->find(program.tensor(id).name); found != data_->end())
      return static_cast<double>(found->second.bytes());
  double out = 4;
  for (const int64_t extent : program.shape(id)) out *= static_cast<double>(std::max<int64_t>(1, extent));
  return out;
}

}  // namespace tokamak::sparse
