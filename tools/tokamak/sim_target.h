#pragma once

#include "sim/report/summary.h"
#include "sim/simulate.h"
#include "sparse_arguments.h"

namespace tokamak::tool {

/// Simulates a file: an `.ein` program with its schedule, region by region, a stream graph, or a SAM exchange file with
/// its tensors beside it or in --data. Values are compared with the dense program where that is quick enough, or with
/// expected_vals.txt beside the tensors, or with the functional runner.
Result<sim::Summary> simulateFile(const SparseArguments& arguments, const sim::Options& options);

}  // namespace tokamak::tool
