#include "schedule/gpu/reduce.h"

#include <fmt/format.h>

#include "schedule/gpu/stages.h"

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
  out += fmt::format(", {} x {} lanes{}", vectors, lanes, straddles ? " across rows" : "");
  if (keep) out += ", values kept";
  if (resident) out += fmt::format(", {} blocks", resident);
  return piece ? out + fmt::format(", pieces of {}, then {}", piece, parts[0].str()) : out;
}

Decision FoldAxes::accepts(const Graph& graph, const Region& region) const {
  return schedule::FoldAxes{}.accepts(graph, region);
}

std::vector<ValueId> readAgain(const Lowering& l, const Phases& phases) {
  std::vector<int> sweeps(l.graph.size(), 0);
  for (const Sweep& sweep : phases.sweeps) {
    std::vector<bool> seen(l.graph.size(), false);
    std::vector<ValueId> work = sweep.stores;
    for (ValueId v : sweep.folds) work.push_back(l.graph.node(v).operands[0]);
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
  }
  std::vector<ValueId> out;
  for (ValueId v : l.region.inputs)
    if (sweeps[v.index] > 1 && l.hasBuffer(v)) out.push_back(v);
  return out;
}

namespace {

/// A fold in two launches, with what the first leaves for the second.
Scheduled lowerTwoStages(const Graph& graph, const Region& region, const FoldAxes::Plan& plan,
                         const std::string& kernelName, const std::shared_ptr<RegionMemory>& memory) {
  const Lowering whole(graph, region, kernelName, memory);
  const FoldDomain domain = foldDomain(whole);
  const Phases phases = planPhases(graph, region, false);
  const Pieces pieces{Dim::ceilDiv(domain.foldedCount, plan.piece), plan.piece};
  Dim kept = 1;
  for (size_t g : domain.keptGroups) kept = kept * domain.groups[g].extent;
  std::vector<std::pair<int, int>> slots;
  for (ValueId v : phases.sweeps[0].folds) {
    const auto kind = std::get<Reduce>(graph.node(v).op).kind;
    const DType type = accumulatorType(kind, graph.type(graph.node(v).operands[0]).dtype);
    slots.push_back({memory->add("partial", type, kept * pieces.count), -1});
    if (isArg(kind)) slots.back().second = memory->add("where", DType::i64, kept * pieces.count);
  }
  const auto buffers = [&](Lowering& l, kernel::Access access) {
    std::vector<PartialBuffers> out;
    for (auto [value, where] : slots)
      out.push_back({l.scratch(value, access), where < 0 ? BufferId{} : l.scratch(where, access)});
    return out;
  };
  const bool columns = plan.form == FoldAxes::Form::columns;
  std::vector<Scheduled> launches;
  Region first = region;
  first.outputs.clear();
  Lowering one(graph, first, kernelName, memory);
  const auto out = buffers(one, kernel::Access::out);
  columns ? lowerColumnPieces(one, domain, plan, pieces, out) : lowerRowPieces(one, domain, plan, pieces, out);
  launches.push_back(std::move(one).finish("", ""));
  Lowering two(graph, region, kernelName, memory);
  const auto in = buffers(two, kernel::Access::in);
  columns ? lowerColumnFinish(two, domain, plan.parts[0], pieces, in)
          : lowerRowFinish(two, domain, plan.parts[0], pieces, in);
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
