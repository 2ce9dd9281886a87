#include "schedule/gpu/reduce.h"

#include <fmt/format.h>

#include "schedule/gpu/stages.h"
#include "schedule/gpu/sweep_folds.h"

namespace tokamak::schedule::gpu {

std::string FoldAxes::Plan::str() const {
  std::string out;
  if (apart) {
    for (const Plan& part : parts) out += (out.empty() ? "" : "; ") + part.str();
    return last ? out + "; " + last->str() : out;
  }
  static constexpr const char* forms[] = {"registers", "sweeps", "columns"};
  out = fmt::format("{}, {} threads", forms[static_cast<int>(form)], threads);
  if (rows > 1) out += fmt::format(" x {}", rows);
  if (cluster > 1) out += fmt::format(" of {} blocks", cluster);
  if (together > 1) out += fmt::format(", {} rows as one{}", together, whole ? ", whole" : "");
  if (batch > 1) out += fmt::format(" x {} rows each", batch);
  out += fmt::format(", {} x {} lanes{}", vectors, lanes, straddles ? " across rows" : "");
  if (keep) out += ", values kept";
  if (ahead) out += ahead < vectors ? fmt::format(", {} of the next loaded", ahead) : ", next row loaded";
  if (resident) out += fmt::format(", {} blocks", resident);
  if (blocks) return out + fmt::format(", {} in all, then {}", blocks, parts[0].str());
  return piece ? out + fmt::format(", pieces of {}, then {}", piece, parts[0].str()) : out;
}

Decision FoldAxes::accepts(const Graph& graph, const Region& region) const {
  return schedule::FoldAxes{}.accepts(graph, region.across.empty() ? region : rowsPart(graph, region));
}

std::vector<ValueId> readAgain(const Lowering& l, const Phases& phases) {
  std::vector<int> sweeps(l.graph.size(), 0);
  std::vector<bool> kept(l.graph.size(), false);  // by an earlier sweep
  for (const Sweep& sweep : phases.sweeps) {
    std::vector<bool> seen = kept;
    std::vector<ValueId> work = sweep.stores;
    for (ValueId v : sweep.folds) work.push_back(l.graph.node(v).operands[0]);
    for (ValueId v : sweep.across) work.push_back(l.graph.node(v).operands[0]);
    while (!work.empty()) {
      const ValueId v = work.back();
      work.pop_back();
      if (seen[v.index] || opAs<Reduce>(l.graph, v)) continue;
      seen[v.index] = true;
      if (l.isLeaf[v.index])
        ++sweeps[v.index];
      else
        work.insert(work.end(), l.graph.node(v).operands.begin(), l.graph.node(v).operands.end());
    }
    for (ValueId v : sweep.keeps) kept[v.index] = true;
  }
  std::vector<ValueId> out;
  for (ValueId v : l.region.inputs)
    if (sweeps[v.index] > 1 && l.hasBuffer(v)) out.push_back(v);
  return out;
}

namespace {

struct Slot {
  int value, where = -1, sum = -1;  // in scratch
};

/// Scratch for what is found in pieces of a sweep's folds, `each` of every fold.
std::vector<Slot> addSlots(const Graph& graph, RegionMemory& memory, const Sweep& sweep, const Dim& each) {
  std::vector<Slot> slots;
  for (const FoundType& found : stagedTypes(graph, sweep)) {
    Slot& slot = slots.emplace_back(Slot{memory.add("partial", found.type, each)});
    if (found.where) slot.where = memory.add("where", DType::i64, each);
    if (found.sum) slot.sum = memory.add("sums", found.type, each);
  }
  return slots;
}

std::vector<PartialBuffers> bindSlots(Lowering& l, const std::vector<Slot>& slots, kernel::Access access) {
  std::vector<PartialBuffers> out;
  const auto buffer = [&](int index) { return index < 0 ? BufferId{} : l.scratch(index, access); };
  for (const Slot& slot : slots) {
    const BufferId value = buffer(slot.value), where = buffer(slot.where), sum = buffer(slot.sum);
    out.push_back({value, where, sum});
  }
  return out;
}

/// Rows with folds across, and the launch that finishes those.
Scheduled lowerBothWays(const Graph& graph, const Region& region, const FoldAxes::Plan& plan,
                        const std::string& kernelName, const std::shared_ptr<RegionMemory>& memory) {
  const Region rows = rowsPart(graph, region), columns = columnsPart(graph, region),
               finishing = afterFolds(graph, columns);
  const Lowering whole(graph, columns, kernelName, memory);
  const FoldDomain columnDomain = foldDomain(whole);
  const Pieces pieces{Dim(int64_t{plan.blocks} * plan.rows), 1};
  Dim kept = 1;
  for (size_t g : columnDomain.keptGroups) kept = kept * columnDomain.groups[g].extent;
  Sweep across;
  across.folds = region.across;
  const auto slots = addSlots(graph, *memory, across, kept * pieces.count);
  std::vector<Scheduled> launches;
  Lowering one(graph, rows, kernelName, memory);
  const auto out = bindSlots(one, slots, kernel::Access::out);
  lowerRowsAcross(one, foldDomain(one), plan, out);
  launches.push_back(std::move(one).finish("", ""));
  Lowering two(graph, finishing, kernelName, memory);
  const auto in = bindSlots(two, slots, kernel::Access::in);
  lowerColumnFinish(two, columnDomain, plan.parts[0], pieces, in);
  launches.push_back(std::move(two).finish("", ""));
  return joined(std::move(launches), std::string(FoldAxes::name), plan.str());
}

/// A fold in two launches, with what the first leaves for the second; it also stores what needs no fold.
Scheduled lowerTwoStages(const Graph& graph, const Region& region, const FoldAxes::Plan& plan,
                         const std::string& kernelName, const std::shared_ptr<RegionMemory>& memory) {
  const Lowering whole(graph, region, kernelName, memory);
  const FoldDomain domain = foldDomain(whole);
  const bool columns = plan.form == FoldAxes::Form::columns;
  const Phases phases = planPhases(graph, region, {.pairs = true, .early = columns});
  const Pieces pieces{Dim::ceilDiv(Dim::ceilDiv(domain.foldedCount, plan.together), plan.piece), plan.piece};
  const Pieces found{pieces.count * Dim(plan.whole ? 1 : plan.together), plan.piece};
  Dim kept = 1;
  for (size_t g : domain.keptGroups) kept = kept * domain.groups[g].extent;
  const auto slots = addSlots(graph, *memory, phases.sweeps[0], kept * found.count);
  std::vector<Scheduled> launches;
  Region first = region, later = region;
  first.outputs = phases.sweeps[0].stores;
  std::erase_if(later.outputs, [&](ValueId v) { return isFull(graph, region, v); });
  Lowering one(graph, first, kernelName, memory);
  const auto out = bindSlots(one, slots, kernel::Access::out);
  columns ? lowerColumnPieces(one, domain, plan, pieces, out) : lowerRowPieces(one, domain, plan, pieces, out);
  launches.push_back(std::move(one).finish("", ""));
  const Region second = afterFolds(graph, later);
  Lowering two(graph, second, kernelName, memory);
  const auto in = bindSlots(two, slots, kernel::Access::in);
  columns ? lowerColumnFinish(two, domain, plan.parts[0], found, in)
          : lowerRowFinish(two, domain, plan.parts[0], found, in);
  launches.push_back(std::move(two).finish("", ""));
  return joined(std::move(launches), std::string(FoldAxes::name), plan.str());
}

}  // namespace

Scheduled FoldAxes::lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName,
                          std::shared_ptr<RegionMemory> memory) const {
  if (plan.apart) {
    std::vector<Scheduled> launches;
    const std::vector<Region> parts = splitSweeps(graph, region, *memory);
    for (size_t s = 0; s < parts.size(); ++s)
      launches.push_back(s < plan.parts.size() ? lower(graph, parts[s], plan.parts[s], kernelName, memory)
                                               : Pointwise{}.lower(graph, parts[s], *plan.last, kernelName, memory));
    return joined(std::move(launches), std::string(name), plan.str());
  }
  if (plan.blocks) return lowerBothWays(graph, region, plan, kernelName, memory);
  if (plan.piece) return lowerTwoStages(graph, region, plan, kernelName, memory);
  Lowering l(graph, region, kernelName, std::move(memory));
  const FoldDomain domain = foldDomain(l);
  if (plan.form == Form::columns)
    lowerColumns(l, domain, plan);
  else
    lowerRows(l, domain, plan);
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule::gpu
