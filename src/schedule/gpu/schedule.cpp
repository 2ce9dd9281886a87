#include "schedule/gpu/schedule.h"

#include "schedule/gpu/contract.h"
#include "schedule/gpu/pointwise.h"
#include "schedule/gpu/reduce.h"
#include "schedule/gpu/scan.h"
#include "schedule/gpu/scatter.h"
#include "schedule/schedule.h"

namespace tokamak::schedule::gpu {

static_assert(Scheduler<Pointwise> && Scheduler<FoldAxes> && Scheduler<RunningFold> && Scheduler<ScatterUpdates> &&
              Scheduler<Contract>);

Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName) {
  switch (region.kind) {
    case RegionKind::pointwise: return runScheduler(Pointwise{}, graph, region, hints, device, kernelName);
    case RegionKind::reduce: return runScheduler(FoldAxes{}, graph, region, hints, device, kernelName);
    case RegionKind::scan: return runScheduler(RunningFold{}, graph, region, hints, device, kernelName);
    case RegionKind::scatter: return runScheduler(ScatterUpdates{}, graph, region, hints, device, kernelName);
    case RegionKind::contract: return runScheduler(Contract{}, graph, region, hints, device, kernelName);
  }
  return noScheduler("unknown kind of region");
}

}  // namespace tokamak::schedule::gpu
