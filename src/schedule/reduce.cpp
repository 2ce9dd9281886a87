#include "schedule/reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/grain.h"
#include "schedule/prefetch.h"
#include "schedule/reduce_lowering.h"

namespace tokamak::schedule {

std::string FoldAxes::Plan::str() const {
  static constexpr const char* forms[] = {"rows", "columns", "split"};
  std::string out = fmt::format("{}, {} lanes", forms[static_cast<int>(form)], lanes);
  if (piece) out += fmt::format(", pieces of {}", piece);
  if (streaming != Streaming::no)
    out += streaming == Streaming::yes ? ", streaming stores" : ", streaming stores when large";
  return out;
}

Decision FoldAxes::accepts(const Graph& graph, const Region& region) const {
  if (region.folded.empty()) return Decision::no("reduce declined: nothing is folded");
  for (ValueId v : region.nodes) {
    auto* op = opAs<Reduce>(graph, v);
    if (op && op->axes != region.folded)
      return Decision::no(fmt::format("reduce declined: {} folds other axes than the region", graph.label(v)));
    if (std::holds_alternative<Scan>(graph.node(v).op))
      return Decision::no(fmt::format("reduce declined: {} is a scan", graph.label(v)));
  }
  return Decision::yes();
}

/// Values after the folds see the kept axes only; what they load must move with the collapsed axes as well.
static void addKeptAccesses(const Lowering& l, const std::vector<bool>& stop, AccessMap& accesses) {
  std::vector<size_t> axes;
  Shape kept;
  for (size_t i = 0; i < l.region.domain.size(); ++i)
    if (std::find(l.region.folded.begin(), l.region.folded.end(), Axis(i)) == l.region.folded.end())
      axes.push_back(i), kept.push_back(l.region.domain[i]);
  std::vector<ValueId> roots;
  for (ValueId v : l.region.nodes)
    if (!stop[v.index] && l.graph.type(v).shape == kept) roots.push_back(v);
  const AccessMap inner = mapAccesses(l.graph, kept, roots, [&](ValueId v) { return stop[v.index]; });
  for (const Access& access : inner.loads) {
    Access wide{access.value, std::vector<Dim>(l.region.domain.size(), Dim(0)),
                std::vector<bool>(l.region.domain.size(), false), access.offset, access.masked};
    for (size_t k = 0; k < axes.size(); ++k)
      wide.stride[axes[k]] = access.stride[k], wide.opaque[axes[k]] = access.opaque[k];
    accesses.loads.push_back(std::move(wide));
  }
  for (size_t k = 0; k < axes.size(); ++k)
    if (inner.pinned[k]) accesses.pinned[axes[k]] = true;
}

FoldDomain foldDomain(const Lowering& l) {
  const Region& region = l.region;
  std::vector<ValueId> roots;
  for (ValueId v : region.nodes)
    if (opAs<Reduce>(l.graph, v)) roots.push_back(l.graph.node(v).operands[0]);
  for (ValueId v : region.outputs)
    if (isFull(l.graph, region, v)) roots.push_back(v);
  std::vector<bool> stop = l.isLeaf;  // folds end the walk: they do not move with the folded axes
  for (ValueId v : region.nodes)
    if (opAs<Reduce>(l.graph, v)) stop[v.index] = true;
  AccessMap accesses = mapAccesses(l.graph, region.domain, roots, [&](ValueId v) { return stop[v.index]; });
  addKeptAccesses(l, stop, accesses);
  std::vector<bool> isFolded(region.domain.size(), false), cut(region.domain.size(), false);
  for (Axis a : region.folded) isFolded[a] = true;
  for (size_t i = 1; i < cut.size(); ++i) cut[i] = isFolded[i] != isFolded[i - 1];
  FoldDomain out;
  out.groups = collapse(region.domain, accesses, cut);
  out.foldedCount = 1;
  for (Axis a : region.folded) out.foldedCount = out.foldedCount * region.domain[a];
  for (size_t g = 0; g < out.groups.size(); ++g) {
    out.folded.push_back(isFolded[out.groups[g].last]);
    (out.folded[g] ? out.foldedGroups : out.keptGroups).push_back(g);
  }
  out.vectorFolded = out.groups.empty() || out.folded.back();
  out.accesses = std::move(accesses);
  return out;
}

std::vector<Dim> FoldDomain::extents(const std::vector<size_t>& which) const {
  std::vector<Dim> out;
  out.reserve(which.size());
  for (size_t g : which) out.push_back(groups[g].extent);
  return out;
}

At keptAt(const Region& region, const At& full) {
  At out{{}, full.lanes, full.mask, full.tail};
  for (size_t i = 0; i < full.index.size(); ++i)
    if (std::find(region.folded.begin(), region.folded.end(), Axis(i)) == region.folded.end())
      out.index.push_back(full.index[i]);
  return out;
}

bool addsFloats(const Graph& graph, const Sweep& sweep) {
  return !sweep.folds.empty() && std::ranges::all_of(sweep.folds, [&](ValueId v) {
    const ReduceKind kind = std::get<Reduce>(graph.node(v).op).kind;
    return (kind == ReduceKind::sum || kind == ReduceKind::mean) && isFloat(graph.type(v).dtype);
  });
}

void bindFold(Lowering& l, ValueId fold, ExprId folded, ExprId position, const Dim& count) {
  const auto& op = std::get<Reduce>(l.graph.node(fold).op);
  const ExprId result = l.w.let("r" + std::to_string(fold.index),
                                finishFold(l.w, op.kind, l.graph.type(fold).dtype, folded, position, count));
  l.e.bind(fold, [result](const At&) { return result; });
}

void storeKept(Lowering& l, const At& kept) {
  for (ValueId v : l.region.outputs)
    if (!isFull(l.graph, l.region, v)) l.store(v, kept);
}

/// Along one stream, memory is kept busy by asking the second cache, which has more requests under way, where next to
/// nothing is computed an element. Where more is, lines have to be nearer. A processor that follows the stream by
/// itself is held up by being asked, but for a few lines early where it does little else.
static FoldAxes::Fetch alongRows(const Graph& graph, const Sweep& sweep, const Device& device) {
  const bool light = sweep.weight <= 2 && std::ranges::all_of(sweep.folds, [&](ValueId v) {
                       const BinaryKind combine = combinerOf(std::get<Reduce>(graph.node(v).op).kind);
                       return combine != BinaryKind::max && combine != BinaryKind::min;
                     });
  if (device.followsStreams) return light ? FoldAxes::Fetch::far : FoldAxes::Fetch::no;
  return light ? FoldAxes::Fetch::second : FoldAxes::Fetch::first;
}

FoldAxes::Plan FoldAxes::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                              const Device& device) const {
  Lowering l(graph, region, "plan");
  const FoldDomain domain = foldDomain(l);
  Plan plan;
  plan.lanes = device.vectorBytes / 4;
  double kept = 1;
  for (size_t g : domain.keptGroups) kept *= likely(domain.groups[g].extent, hints);
  const double folded = likely(domain.foldedCount, hints);
  const double lastKept =
      domain.vectorFolded || domain.keptGroups.empty() ? 1 : likely(domain.groups.back().extent, hints);
  const Phases phases = planPhases(graph, region, {.keep = true});
  const bool oneSweep = phases.sweeps.size() == 1 && phases.sweeps[0].stores.empty();
  const bool anyArg = std::any_of(region.nodes.begin(), region.nodes.end(), [&](ValueId v) {
    auto* op = opAs<Reduce>(graph, v);
    return op && isArg(op->kind);
  });
  double weight = 0;
  for (const Sweep& sweep : phases.sweeps) weight += static_cast<double>(sweep.weight);
  plan.keep = folded * 4 <= device.cacheBytes;
  if (domain.vectorFolded) {
    plan.form = Form::row;
    if (oneSweep && isLongFold(kept, folded)) {
      plan.form = Form::split;
      plan.piece = domain.foldedGroups.size() == 1 ? 16384 : 1;
    }
    plan.grain = worthAThread(weight, folded);
    if (phases.sweeps.size() == 1) plan.fetch = alongRows(graph, phases.sweeps[0], device);
    plan.aheadBytes = plan.fetch == Fetch::far ? kFarAheadBytes : device.aheadBytes;
  } else {
    plan.form = Form::column;
    if (oneSweep && !anyArg && domain.foldedGroups.size() == 1 && domain.keptGroups.size() == 1 && folded >= 256 &&
        lastKept <= 65536) {
      plan.form = Form::split;
      plan.piece = std::clamp<int64_t>(static_cast<int64_t>(folded) / 16 / 8 * 8, 8, 1024);  // longer sums lose digits
      if (folded * lastKept * 4 > device.cacheBytes) plan.fetch = Fetch::second;
    }
    plan.keep = plan.keep && folded * 4 * plan.lanes <= device.cacheBytes;
    plan.grain = worthAThread(weight, folded * plan.lanes);
  }
  const bool storesFull = !phases.sweeps.back().stores.empty();
  plan.streaming = storesFull ? streamingOf(graph, region, device) : Streaming::no;
  plan.streamBytes = device.streamBytes;
  return plan;
}

Scheduled FoldAxes::lower(const Graph& graph, const Region& region, const Plan& plan,
                          const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  const FoldDomain domain = foldDomain(l);
  if (plan.form == Form::row)
    lowerRows(l, domain, plan);
  else if (plan.form == Form::column)
    lowerColumns(l, domain, plan);
  else if (domain.vectorFolded)
    lowerSplitRows(l, domain, plan);
  else
    lowerSplitColumns(l, domain, plan);
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule
