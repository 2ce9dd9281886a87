#include "schedule/gpu/schedule.h"

#include "schedule/gpu/pointwise.h"
#include "schedule/gpu/reduce.h"
#include "schedule/schedule.h"

namespace tokamak::schedule::gpu {

static_assert(Scheduler<Pointwise> && Scheduler<FoldAxes>);

Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName) {
  switch (region.kind) {
    case RegionKind::pointwise: return runScheduler(Pointwise{}, graph, region, hints, device, kernelName);
    case RegionKind::reduce: return runScheduler(FoldAxes{}, graph, region, hints, device, kernelName);
    case RegionKind::scan:
    case RegionKind::scatter:
    case RegionKind::contract: break;
  }
  return noScheduler("no kernels for a GPU of this kind of region yet");
}

}  // namespace tokamak::schedule::gpu
