#pragma once

#include "sim/hw/machine.h"
#include "sparse/stream/run/recorder.h"

namespace tokamak::sim {

/// Simulates cycle by cycle; in each, the nodes that may have something to do run in turn. Fills in cycles, tokens,
/// nodes and streams of the report. `recorders`: none, or one for each node of the network. `pause` as in
/// Options::progress.
Result<> runMachine(Machine& machine, const HwConfig& config, Report& report, std::vector<stream::Recorder>& recorders,
                    const std::function<bool()>& pause);

}  // namespace tokamak::sim
