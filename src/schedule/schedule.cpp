#include "schedule/schedule.h"

#include "schedule/contract.h"
#include "schedule/gpu/schedule.h"
#include "schedule/pointwise.h"
#include "schedule/reduce.h"
#include "schedule/scan.h"
#include "schedule/scatter.h"

namespace tokamak::schedule {

static_assert(Scheduler<Pointwise> && Scheduler<FoldAxes> && Scheduler<RunningFold> && Scheduler<ScatterUpdates> &&
              Scheduler<Contract>);

Diagnostic noScheduler(const std::string& refusals) {
  return {"T0510",
          {},
          "no scheduler takes a region: " + refusals,
          "please report the graph; compile with fusion off to go on"};
}

Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName) {
  if (device.gpu) return gpu::scheduleRegion(graph, region, hints, device, kernelName);
  switch (region.kind) {
    case RegionKind::pointwise: return runScheduler(Pointwise{}, graph, region, hints, device, kernelName);
    case RegionKind::reduce: return runScheduler(FoldAxes{}, graph, region, hints, device, kernelName);
    case RegionKind::scan: return runScheduler(RunningFold{}, graph, region, hints, device, kernelName);
    case RegionKind::scatter: return runScheduler(ScatterUpdates{}, graph, region, hints, device, kernelName);
    case RegionKind::contract: return runScheduler(Contract{}, graph, region, hints, device, kernelName);
  }
  return noScheduler("unknown kind of region");
}

}  // namespace tokamak::schedule
