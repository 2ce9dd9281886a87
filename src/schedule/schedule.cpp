#include "schedule/schedule.h"

#include "schedule/contract.h"
#include "schedule/pointwise.h"
#include "schedule/reduce.h"
#include "schedule/scan.h"
#include "schedule/scatter.h"

namespace tokamak::schedule {

static_assert(Scheduler<Pointwise> && Scheduler<FoldAxes> && Scheduler<RunningFold> && Scheduler<ScatterUpdates> &&
              Scheduler<Contract>);

namespace {

template <class S>
Result<Scheduled> with(const S& scheduler, const Graph& graph, const Region& region, const DimBindings& hints,
                       const Device& device, const std::string& kernelName) {
  if (Decision decision = scheduler.accepts(graph, region); !decision)
    return Diagnostic{"T0510",
                      {},
                      "no scheduler takes a region: " + decision.reason(),
                      "please report the graph; compile with fusion off to go on"};
  return scheduler.lower(graph, region, scheduler.plan(graph, region, hints, device), kernelName);
}

}  // namespace

Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName) {
  switch (region.kind) {
    case RegionKind::pointwise: return with(Pointwise{}, graph, region, hints, device, kernelName);
    case RegionKind::reduce: return with(FoldAxes{}, graph, region, hints, device, kernelName);
    case RegionKind::scan: return with(RunningFold{}, graph, region, hints, device, kernelName);
    case RegionKind::scatter: return with(ScatterUpdates{}, graph, region, hints, device, kernelName);
    case RegionKind::contract: return with(Contract{}, graph, region, hints, device, kernelName);
  }
  return Diagnostic{"T0510", {}, "unknown kind of region", ""};
}

}  // namespace tokamak::schedule
