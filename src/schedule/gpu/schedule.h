#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule::gpu {

/// The kernels of a region for `device.gpu`; scheduleRegion of schedule/schedule.h comes here.
Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName);

}  // namespace tokamak::schedule::gpu
