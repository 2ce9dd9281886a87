#include "schedule/gpu/schedule.h"

#include <algorithm>

#include "schedule/gpu/contract.h"
#include "schedule/gpu/pointwise.h"
#include "schedule/gpu/reduce.h"
#include "schedule/gpu/scan.h"
#include "schedule/gpu/scatter.h"
#include "schedule/schedule.h"

namespace tokamak::schedule::gpu {

static_assert(Scheduler<Pointwise> && Scheduler<FoldAxes> && Scheduler<RunningFold> && Scheduler<ScatterUpdates> &&
              Scheduler<Contract>);

namespace {

bool isRounded(const Graph& graph, ValueId v) { return isHalf(graph.type(v).dtype); }

/// What the hardware computes quickly and less exactly. A mean ends in a division, which is exact where there is one a
/// row and not one a lane.
bool isQuick(const Graph& graph, const Node& node) {
  const Op& op = node.op;
  if (const auto* fold = std::get_if<Reduce>(&op)) {
    const size_t last = graph.type(node.operands[0]).rank() - 1;
    return fold->kind == ReduceKind::mean && std::find(fold->axes.begin(), fold->axes.end(), last) == fold->axes.end();
  }
  if (const auto* binary = std::get_if<Binary>(&op)) return binary->kind == BinaryKind::div;
  const auto* unary = std::get_if<Unary>(&op);
  return unary && (unary->kind == UnaryKind::exp || unary->kind == UnaryKind::sigmoid ||
                   unary->kind == UnaryKind::erf || unary->kind == UnaryKind::reciprocal);
}

/// Whether the program gives nothing to others that needs more than halves of this region's functions.
bool roundsToHalves(const Graph& graph, const Region& region) {
  const auto& results = graph.outputs();
  if (std::all_of(results.begin(), results.end(), [&](ValueId v) { return isRounded(graph, v); })) return true;
  const auto& given = region.outputs;
  if (std::none_of(given.begin(), given.end(), [&](ValueId v) { return isRounded(graph, v); })) return false;
  std::vector<bool> quick(graph.size(), false);  // by such a function
  for (ValueId v : region.nodes) {
    const Node& node = graph.node(v);
    quick[v.index] = isQuick(graph, node) || std::any_of(node.operands.begin(), node.operands.end(),
                                                         [&](ValueId operand) { return quick[operand.index]; });
  }
  return std::none_of(given.begin(), given.end(), [&](ValueId v) { return !isRounded(graph, v) && quick[v.index]; });
}

Result<Scheduled> schedule(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device,
                           const std::string& kernelName) {
  switch (region.kind) {
    case RegionKind::pointwise: return runScheduler(Pointwise{}, graph, region, hints, device, kernelName);
    case RegionKind::reduce: return runScheduler(FoldAxes{}, graph, region, hints, device, kernelName);
    case RegionKind::scan: return runScheduler(RunningFold{}, graph, region, hints, device, kernelName);
    case RegionKind::scatter: return runScheduler(ScatterUpdates{}, graph, region, hints, device, kernelName);
    case RegionKind::contract: return runScheduler(Contract{}, graph, region, hints, device, kernelName);
  }
  return noScheduler("unknown kind of region");
}

}  // namespace

Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName) {
  TK_TRY(Scheduled out, schedule(graph, region, hints, device, kernelName));
  out.halves = roundsToHalves(graph, region);
  return out;
}

}  // namespace tokamak::schedule::gpu
