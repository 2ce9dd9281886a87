#pragma once

#include "search/store.h"
#include "sweep_report.h"

/// A search on a cluster is a conversation with `python -m tokamak.sweep`, which asks this program what is missing,
/// has it simulated by this program on the workers, and hands the measurements back.
namespace tokamak::tool {

/// Becomes `python3 -m tokamak.sweep` with the same arguments. T0993 where that cannot be started.
Result<Outcome> runOnCluster(const SweepOptions& options);

/// A line of JSON: the keys of the choices to simulate next; none when the search can be reported.
Result<Outcome> listMissing(const std::vector<Searched>& found);
/// Keys on standard input, a line each; a line of JSON with the measurement of each on standard output.
Result<Outcome> simulateForOthers(const SweepOptions& options, const std::vector<Searched>& found);
/// Those lines on standard input; the measurements are kept.
Result<Outcome> acceptFromOthers(const std::vector<Searched>& found, search::Store& store);

}  // namespace tokamak::tool
