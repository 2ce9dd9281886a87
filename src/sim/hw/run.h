#pragma once

#include "sim/hw/machine.h"

namespace tokamak::sim {

/// Simulates cycle by cycle; in each, the nodes that may have something to do run in turn. Fills in cycles, tokens,
/// nodes and streams of the report. `pause` as in Options::progress.
Result<> runMachine(Machine& machine, const HwConfig& config, Report& report, const std::function<bool()>& pause);

}  // namespace tokamak::sim
